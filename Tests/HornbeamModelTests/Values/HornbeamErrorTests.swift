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
        #expect(error.description == "Error 1660 (stringTooLong) at Book.title: “Book.title” is too long. Cause: x")
        #expect(error.localizedDescription == error.description)
        #expect(
            error.expandedDescription == """
                Error 1660 (stringTooLong) at Book.title: “Book.title” is too long. Cause: x
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
                Error 1560 (multipleErrors): There are 3 errors; each of them is among the details.
                  - Error 1570 (missingRequiredValue) at Book: One.
                  - Error 1580 (tooFewObjects) at books: Two.
                  - Error 1570 (missingRequiredValue) at Book: One.
                """)
    }

    @Test("VAL-3: as an NSError, an error has its number, and its parts under Core Data's keys")
    func errorsAreNSErrors() throws {
        let one = HornbeamError(.missingRequiredValue, "One.", entity: "Book", key: "title", value: .null, objectIDs: [id])
        let error = try #require(HornbeamError.combining([one, one])) as NSError
        #expect(error.domain == "HornbeamErrorDomain" && error.code == 1560)
        #expect(error.localizedDescription.hasPrefix("Error 1560 (multipleErrors): There are 2 errors"))
        let details = try #require(error.userInfo["NSDetailedErrors"] as? [NSError])
        #expect(details.map(\.code) == [1570, 1570])
        #expect(details[0].userInfo["NSValidationErrorKey"] as? String == "title")
        #expect(details[0].userInfo["NSValidationErrorObject"] as? ManagedObjectID == id)
        #expect(details[0].userInfo["NSValidationErrorValue"] as? PropertyValue == .null)
        #expect(error.userInfo["NSAffectedObjectsErrorKey"] as? [ManagedObjectID] == [id])
    }

    @Test("A suggestion is the nearest name, or none", arguments: [
        ("titel", " (did you mean “title”?)"), ("TITLE", " (did you mean “title”?)"), ("ttle", " (did you mean “title”?)"),
        ("x", ""), ("", ""), ("colour", ""), ("title", ""),
    ])
    func suggestionIsTheNearestName(_ name: String, _ hint: String) {
        #expect(suggestion(for: name, among: ["title", "pages"]) == hint)
    }

    @Test("VAL-3: each code that has a name in the sources prints as it") func codesHaveNames() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/HornbeamModel")
        let text = try ["Values/HornbeamError+Codes.swift", "Predicate/HornbeamError+Predicate.swift"]
            .map { try String(contentsOf: sources.appending(path: $0), encoding: .utf8) }.joined()
        let codes = text.matches(of: /static let (\w+) = Self\(rawValue: ([\d_]+)\)/)
        #expect(codes.count > 70)
        for code in codes {
            let number = try #require(Int(code.2.replacing("_", with: "")))
            #expect(String(describing: HornbeamError.Code(rawValue: number)) == code.1)
        }
        #expect("\(HornbeamError.Code.missingRequiredValue)" == "missingRequiredValue")
        #expect("\(HornbeamError.Code(rawValue: 42))" == "code 42")
    }
}
