import Foundation
@testable import HornbeamModel
import Testing

@Suite struct VersionHashTests {
    @Test(
        "SHA-256 gives the digests of its standard",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (String(repeating: "a", count: 1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ])
    func digestsAreStandard(_ message: String, _ digest: String) {
        #expect(SHA256.hash(Array(message.utf8)).map { hex($0) }.joined() == digest)
    }

    private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    private func hash(_ change: (inout ModelDefinition) -> Void) throws -> Data {
        var definition = Library.definition()
        change(&definition)
        return try ManagedObjectModel(definition).entity(named: "Book").versionHash
    }

    @Test("MOD-11: the hash has 32 bytes and is the same in every process")
    func hashIsStable() throws {
        let hash = try hash { _ in }
        #expect(hash.count == 32)
        #expect(hash == (try self.hash { _ in }))
        let plain = try ManagedObjectModel { Entity("A") { Attribute<String>("b") } }
        #expect(plain.versionChecksum == "KTH2johtJzsrE/fOM2Cdzw==")
    }

    @Test("MOD-11: the parts of a model that determine stored rows change the hash")
    func stepsThatNeedMigrationChangeTheHash() throws {
        let changes: [(inout ModelDefinition) -> Void] = [
            { $0.entities[1].isAbstract = true },
            { $0.entities[1].attributes[0].name = "sheets"; $0.entities[1].fetchIndexes = [] },
            { $0.entities[1].attributes[0].isOptional = true },
            { $0.entities[1].attributes[0].isTransient = true; $0.entities[1].fetchIndexes = [] },
            { $0.entities[1].attributes[0].type = .integer64 },
            { $0.entities[1].attributes[0].versionHashModifier = "x" },
            { $0.entities[1].versionHashModifier = "x" },
            { $0.entities[1].relationships[0].isOptional = false },
            { $0.entities[1].relationships[1].maxCount = 9 },
            { $0.entities[1].relationships[1].isOrdered = false },
            { $0.entities[1].uniquenessConstraints = [["pages"]] },
            { $0.entities[1].superentityName = nil; $0.entities[1].fetchIndexes = [] },
            { $0.entities[0].attributes[0].isOptional = true },
        ]
        let original = try hash { _ in }
        for (number, change) in changes.enumerated() {
            #expect(try hash(change) != original, "change \(number)")
        }
    }

    @Test("MOD-11: indexes, defaults, validation, user info, class name, renaming and order do not change the hash")
    func otherStepsKeepTheHash() throws {
        let changes: [(inout ModelDefinition) -> Void] = [
            { $0.entities[1].fetchIndexes = [] },
            { $0.entities[1].attributes[0].defaultValue = 7 },
            { $0.entities[1].attributes[0].maximum = nil },
            { $0.entities[1].attributes[0].rules = [ValidationRule("SELF > 0")] },
            { $0.entities[1].attributes[0].userInfo = ["a": "b"] },
            { $0.entities[1].attributes[0].renamingIdentifier = "sheets" },
            { $0.entities[1].userInfo = ["a": "b"] },
            { $0.entities[1].className = nil },
            { $0.entities[1].renamingIdentifier = "Tome" },
            { $0.entities[1].relationships[0].deleteRule = .cascade },
            { $0.entities[1].relationships.reverse() },
            { $0.entities.reverse() },
        ]
        let original = try hash { _ in }
        for (number, change) in changes.enumerated() {
            #expect(try hash(change) == original, "change \(number)")
        }
    }

    @Test("MDL-9, MDL-10: a model is compatible with its own hashes, complete or by configuration")
    func modelFitsItsOwnHashes() throws {
        let model = try Library.model()
        let hashes = model.entityVersionHashesByName
        #expect(try model.isConfiguration(nil, compatibleWith: hashes))
        #expect(try !model.isConfiguration("Shelf", compatibleWith: hashes))
        let shelf = hashes.filter { ["Book", "Author"].contains($0.key) }
        #expect(try model.isConfiguration("Shelf", compatibleWith: shelf))
        #expect(model.versionIdentifiers == ["v1"])
        #expect(Data(base64Encoded: model.versionChecksum)?.count == 16)
        #expect(try ManagedObjectModel.merged([model], for: hashes)?.versionChecksum == model.versionChecksum)
        #expect(try ManagedObjectModel.merged([try ManagedObjectModel { Entity("Book") }], for: hashes) === nil)
    }
}
