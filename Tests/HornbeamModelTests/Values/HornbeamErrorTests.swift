import Foundation
import HornbeamModel
import Testing

@Suite struct HornbeamErrorTests {
    private let id = ManagedObjectID(
        origin: .init(
            entityName: "Book", storeIdentifier: UUID(uuidString: "6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F"), entityNumber: 0),
        reference: 4)

    @Test("VAL-3: the description holds no values, the expanded one does")
    func descriptionHoldsNoValues() {
        let error = HornbeamError(
            .stringTooLong, "“Book.title” is too long.", entity: "Book", key: "title", value: "secret", objectIDs: [id], cause: "x")
        #expect(error.description == "Error 1660 at Book.title: “Book.title” is too long. Cause: x")
        #expect(error.localizedDescription == error.description)
        #expect(
            error.expandedDescription == """
                Error 1660 at Book.title: “Book.title” is too long. Cause: x
                    value: "secret"
                    object: x-hornbeam://6E4C8A52-1F07-4C6C-8D5E-0A1B2C3D4E5F/Book/p4
                """)
    }

    @Test("VAL-3: several errors become one with code 1560, nested ones are flattened")
    func severalErrorsBecomeOne() throws {
        let one = HornbeamError(.missingRequiredValue, "One.", entity: "Book", objectIDs: [id])
        let two = HornbeamError(.tooFewObjects, "Two.", key: "books", objectIDs: [id])
        #expect(HornbeamError.combining([]) == nil)
        #expect(HornbeamError.combining([one]) == one)
        let both = try #require(HornbeamError.combining([one, two]))
        let all = try #require(HornbeamError.combining([both, one]))
        #expect(all.code.rawValue == 1560)
        #expect(all.details == [one, two, one])
        #expect(all.objectIDs == [id])
        #expect(
            all.description == """
                Error 1560: There are 3 errors; each of them is among the details.
                  - Error 1570 at Book: One.
                  - Error 1580 at books: Two.
                  - Error 1570 at Book: One.
                """)
    }

    @Test("A suggestion is the nearest name, or none", arguments: [
        ("titel", " (did you mean “title”?)"), ("TITLE", " (did you mean “title”?)"), ("ttle", " (did you mean “title”?)"),
        ("x", ""), ("", ""), ("colour", ""), ("title", ""),
    ])
    func suggestionIsTheNearestName(_ name: String, _ hint: String) {
        #expect(suggestion(for: name, among: ["title", "pages"]) == hint)
    }
}
