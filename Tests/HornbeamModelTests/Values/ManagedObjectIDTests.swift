import Foundation
import HornbeamModel
import Testing

@Suite struct ManagedObjectIDTests {
    private let store = UUID(uuidString: "6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F")!

    private func id(_ entity: String = "Book", store: UUID?, _ number: UInt64) -> ManagedObjectID {
        ManagedObjectID(
            origin: .init(entityName: entity, storeIdentifier: store, entityNumber: store == nil ? -1 : 1), reference: number)
    }

    @Test("PSC-12: an ID has a URI, which converts back to the ID")
    func idHasAURI() {
        let permanent = id(store: store, 42)
        #expect(permanent.description == "x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p42")
        #expect(ManagedObjectID(uriRepresentation: permanent.uriRepresentation()) == permanent)
        let temporary = id(store: nil, 7)
        #expect(temporary.description == "x-hornbeam:///Book/t7")
        #expect(temporary.isTemporaryID)
        #expect(ManagedObjectID(uriRepresentation: temporary.uriRepresentation()) == temporary)
        let accented = id("Büro", store: store, .max)
        #expect(ManagedObjectID(uriRepresentation: accented.uriRepresentation()) == accented)
    }

    @Test("PSC-12: the URIs of Core Data are read too")
    func coreDataURIsAreRead() throws {
        let url = try #require(URL(string: "x-coredata://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p42"))
        #expect(ManagedObjectID(uriRepresentation: url) == id(store: store, 42))
    }

    @Test(
        "PSC-12: a URI of another form is no ID",
        arguments: [
            "http://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p42", "x-hornbeam://store/Book/p42",
            "x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/42", "x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book",
            "x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p-1", "x-hornbeam:///Book/p1",
            "x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p99999999999999999999", "x-hornbeam:",
        ])
    func otherURIsAreNoIDs(_ text: String) throws {
        #expect(ManagedObjectID(uriRepresentation: try #require(URL(string: text))) == nil)
    }

    @Test("PSC-11: IDs are equal by store, entity and number, and are coded as their URI")
    func idsAreEqualByContent() throws {
        #expect(id(store: store, 1) == id(store: store, 1))
        #expect(id(store: store, 1) != id(store: store, 2))
        #expect(id(store: store, 1) != id("Author", store: store, 1))
        #expect(id(store: store, 1) != id(store: UUID(), 1))
        let coded = try JSONEncoder().encode([id(store: store, 1)])
        #expect(try JSONDecoder().decode([ManagedObjectID].self, from: coded) == [id(store: store, 1)])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([ManagedObjectID].self, from: Data("[\"x\"]".utf8)) }
    }
}
