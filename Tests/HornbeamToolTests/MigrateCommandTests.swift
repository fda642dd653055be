import Foundation
import Hornbeam
import HornbeamModel
import HornbeamXcodeModels
import Testing

@testable import HornbeamTool

/// `hornbeam migrate` and `hornbeam model diff`.
@Suite struct MigrateCommandTests {
    private let folder = TemporaryFolder()

    private func write(_ contents: String, version: String) throws {
        try folder.write("<model><entity name=\"Note\">\(contents)</entity></model>", to: "Notes.xcdatamodeld/\(version).xcdatamodel/contents")
    }

    private func attribute(_ name: String, _ more: String = "") -> String {
        "<attribute name=\"\(name)\" attributeType=\"String\" optional=\"YES\" \(more)/>"
    }

    /// Three versions. Only through all of them does the text of the first reach the current one, the third; the fourth is a future version.
    private func makeBundle() throws -> String {
        try write(attribute("text"), version: "Notes")
        try write(attribute("body", "elementID=\"text\""), version: "Notes 2")
        try write(attribute("content", "elementID=\"body\""), version: "Notes 3")
        try write(attribute("content") + attribute("draft"), version: "Notes 10")
        try folder.write(
            "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>Notes 3.xcdatamodel</string></dict></plist>",
            to: "Notes.xcdatamodeld/.xccurrentversion")
        return folder.path("Notes.xcdatamodeld")
    }

    private func makeStore(_ model: String) throws -> String {
        let store = folder.path("Notes.hornbeam")
        let container = try PersistentContainer.open(at: URL(filePath: store), model: ManagedObjectModel(ModelFile(model).definition()))
        let context = container.newContext()
        try context.insert(entityNamed: "Note").setValue("kept", forKey: "text")
        try context.save()
        try container.close()
        return store
    }

    private func contents(_ store: String, _ key: String) throws -> [PropertyValue] {
        let container = try PersistentContainer.openReadOnly(at: URL(filePath: store))
        defer { try? container.close() }
        return try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { try $0.value(forKey: key) }
    }

    @MainActor @Test("MIG-13, MIG-14: a store is migrated over the versions of an Xcode bundle to the current one; a dry run changes nothing")
    func bundleIsAChain() async throws {
        let bundle = try makeBundle()
        let store = try makeStore("\(bundle)/Notes.xcdatamodel")
        #expect(await Tool.run(["migrate", store, "--model", bundle, "--dry-run"]) == 0)
        #expect(try contents(store, "text") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 0)
        #expect(try contents(store, "content") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", "\(bundle)/Notes 10.xcdatamodel"]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 1)
        #expect(try contents(store, "draft") == [.null])
    }

    @MainActor @Test("MIG-13, MIG-14: a store is migrated over the JSON models of a folder to the last one")
    func folderIsAChain() async throws {
        let bundle = try makeBundle()
        let store = try makeStore("\(bundle)/Notes.xcdatamodel")
        for version in ["Notes", "Notes 2", "Notes 3"] {
            let json = try ModelFile("\(bundle)/\(version).xcdatamodel").definition().json()
            try folder.write(String(decoding: json, as: UTF8.self), to: "Models/\(version).json")
        }
        #expect(await Tool.run(["migrate", store, "--model", folder.path("Models")]) == 0)
        #expect(try contents(store, "content") == ["kept"])
    }

    @Test("MDL-12, MIG-13: an Xcode bundle is read whole: all versions in order, the marked one current, neighbours with the same rows as one")
    func bundleIsReadWhole() throws {
        let bundle = URL(filePath: try makeBundle())
        try write(attribute("content", "elementID=\"body\" maxValueString=\"9\""), version: "Notes 4")
        let versions = try VersionedModel(xcodeModelsAt: bundle)
        #expect(versions.names == ["Notes", "Notes 2", "Notes 3", "Notes 10"])
        #expect(versions.currentName == "Notes 3")
        #expect(versions.current.entities[0].attributes.map(\.name) == ["content"])
        let some = try VersionedModel(xcodeModelsAt: bundle, order: ["Notes 2", "Notes", "Notes 3"])
        #expect(some.names == ["Notes 2", "Notes", "Notes 3"])
        func message(_ order: [String]?) -> String? {
            #expect(throws: HornbeamError.self) { try VersionedModel(xcodeModelsAt: bundle, order: order) }?.message
        }
        #expect(
            message(["Notes", "Nots 3"])
                == "“Notes.xcdatamodeld” holds no version “Nots 3”: it holds “Notes”, “Notes 2”, “Notes 3”, “Notes 4”, “Notes 10”.")
        #expect(
            message(["Notes", "Notes 2"])
                == "The current version “Notes 3” does not exist: there are “Notes”, “Notes 2”.")
        try write("<attribute name=\"x\" attributeType=\"String\" derived=\"YES\" derivationExpression=\"uppercase:(y)\"/>", version: "Notes 2")
        #expect(message(nil)?.hasPrefix("Version “Notes 2” of “Notes.xcdatamodeld”: ") == true)
    }

    @MainActor @Test("MIG-3, MIG-4: the difference of two models ends with 1 and all obstacles where a store is not migrated without code")
    func differenceNamesObstacles() async throws {
        let old = try folder.write("<model><entity name=\"Note\">\(attribute("a"))\(attribute("b"))</entity></model>", to: "Old.xcdatamodel/contents")
        let new = try folder.write(
            """
            <model><entity name="Note"><attribute name="a" attributeType="Integer 16" optional="YES"/>\
            <attribute name="b" attributeType="String"/></entity></model>
            """, to: "New.xcdatamodel/contents")
        #expect(await Tool.run(["model", "diff", old, old]) == 0)
        #expect(await Tool.run(["model", "diff", old, new]) == 1)
        let error = #expect(throws: HornbeamError.self) {
            try MappingModel.inferred(from: ManagedObjectModel(ModelFile(old).definition()), to: ManagedObjectModel(ModelFile(new).definition()))
        }
        #expect(
            error.map(FailureText.describe) == """
                The migration cannot be inferred: there are 2 obstacles, which are among the details. Change the new model, migrate in two steps, or write \
                a migration plan.
                  - Note.a: Its type was string and is integer16 now. Values are not converted automatically: give the new attribute \
                another name, and convert in code.
                  - Note.b: Existing objects may have no value for it: it was optional and is required now. Give it a default value, or make it \
                optional.
                """)
    }
}
