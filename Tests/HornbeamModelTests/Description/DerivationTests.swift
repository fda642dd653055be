import Foundation
import HornbeamModel
import Testing

@Suite struct DerivationTests {
    @Test(
        "ATT-11: the allowed derivations are read and printed back",
        arguments: [
            ("name", .value(["name"])), ("author.name", .value(["author", "name"])), ("canonical:(name)", .text(.canonical, ["name"])),
            ("uppercase:(author.name)", .text(.uppercase, ["author", "name"])), ("lowercase:(name)", .text(.lowercase, ["name"])),
            ("books.@count", .count(relationship: "books")),
            ("books.price.@sum", .aggregate(.sum, relationship: "books", attribute: "price")),
            ("books.price.@max", .aggregate(.max, relationship: "books", attribute: "price")), ("now()", .now),
        ] as [(String, Derivation)])
    func allowedDerivationsAreRead(_ text: String, _ derivation: Derivation) throws {
        #expect(try Derivation(text) == derivation)
        #expect(derivation.description == text)
    }

    private static let forms =
        "it can be a path (author.name), canonical:(path), uppercase:(path), lowercase:(path), relationship.@count, "
        + "relationship.attribute.@sum (@avg, @min, @max), or now()."

    @Test(
        "ATT-11: anything else is refused with the forms that are allowed",
        arguments: [
            ("books.@sum.price", "books.@sum.price is not a derivation: the operator must be last, books.price.@sum."),
            ("price * 2", "price * 2 is not a derivation: \(forms)"), ("a.b.@count", "a.b.@count is not a derivation: \(forms)"),
            ("canonical:(uppercase:(name))", "canonical:(uppercase:(name)) is not a derivation: \(forms)"),
            ("1", "1 is not a derivation: \(forms)"),
        ])
    func otherExpressionsAreRefused(_ text: String, _ message: String) {
        let error = #expect(throws: HornbeamError.self) { try Derivation(text) }
        #expect(error?.message == message)
        #expect(throws: HornbeamError.self) { try Derivation("name.") }
    }

    private struct Wrong: Sendable, CustomTestStringConvertible {
        let text: String
        let type: AttributeType
        let message: String
        var testDescription: String { text }
    }

    private static let wrong: [Wrong] = [
        Wrong(text: "nam", type: .string, message: "is derived from “nam”, which “Author” does not have (did you mean “name”?)."),
        Wrong(text: "books.title", type: .string, message: "is derived over “books”, and “Author” leads to many objects there."),
        Wrong(text: "boss.title", type: .string, message: "is derived over “boss”, and “Author” has no relationship of that name."),
        Wrong(text: "canonical:(born)", type: .string, message: "is derived from “born”, which is not a string."),
        Wrong(text: "name", type: .integer16, message: "is of type integer16, and its derivation gives a string: change the type."),
        Wrong(text: "mentor.@count", type: .integer64, message: "is derived from “mentor”, which leads to one object: only a to-many has an aggregate."),
        Wrong(text: "books.title.@sum", type: .double, message: "is derived from “books.title”, which is not a number."),
        Wrong(text: "now()", type: .double, message: "is of type double, and its derivation gives a date: change the type."),
        Wrong(text: "other", type: .string, message: "is derived from “Author.other”, which is derived itself: derive it from a stored value."),
    ]

    @Test("ATT-11: a derivation must start at the entity and have the attribute's type", arguments: wrong)
    private func derivationMustFit(_ wrong: Wrong) {
        let error = #expect(throws: HornbeamError.self) {
            try ManagedObjectModel(entities: [
                Entity("Author", attributes: [
                    AttributeDescription("name", .string), AttributeDescription("born", .integer16, optional: true),
                    AttributeDescription("other", .string, optional: true, derivation: "name"),
                    AttributeDescription("made", wrong.type, optional: true, derivation: wrong.text),
                ], relationships: [
                    RelationshipDescription("mentor", to: "Author"),
                    RelationshipDescription("books", to: "Book", inverse: "author", toMany: true),
                ]),
                Entity("Book") {
                    Attribute<String>("title")
                    ToOne("author", to: "Author", inverse: "books")
                },
            ])
        }
        #expect(error?.details.map(\.message) == ["“Author.made” " + wrong.message])
    }

    @Test("ATT-11: a derived value is computed from the object")
    func derivedValueIsComputed() throws {
        struct Author: KeyedValues {
            func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
                switch key {
                case "name": .value("Čapek")
                case "books":
                    .collection([1, 2.5].map { .object(["price": PropertyValue.double($0)]) }, isOrdered: false)
                case "empty": .collection([], isOrdered: false)
                default: .value(.null)
                }
            }
        }
        let now = PropertyValue.date(Date(timeIntervalSince1970: 5))
        func value(_ text: String) throws -> PropertyValue { try Derivation(text).value(of: Author(), now: now) }
        #expect(try value("name") == "Čapek")
        #expect(try value("canonical:(name)") == "capek")
        #expect(try value("uppercase:(name)") == "ČAPEK")
        #expect(try value("books.@count") == 2)
        #expect(try value("books.price.@sum").isEqual(to: 3.5))
        #expect(try value("books.price.@avg").isEqual(to: 1.75))
        #expect(try value("books.price.@min").isEqual(to: 1))
        #expect(try value("empty.@count") == 0)
        #expect(try value("mentor.name") == .null)
        #expect(try value("now()") == now)
    }
}
