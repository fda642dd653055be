import Foundation
import HornbeamModel
import Testing

@Suite struct ValidationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let title: String
        let attribute: AttributeDescription
        let value: PropertyValue
        let code: HornbeamError.Code?
        let message: String?

        init(
            _ title: String, _ attribute: AttributeDescription, _ value: PropertyValue,
            _ code: HornbeamError.Code? = nil, _ message: String? = nil
        ) {
            (self.title, self.attribute, self.value, self.code, self.message) = (title, attribute, value, code, message)
        }
        var testDescription: String { title }
    }

    private static let year = AttributeDescription("x", .integer16, optional: true, minimum: 1900, maximum: 2100)
    private static let name = AttributeDescription(
        "x", .string, minimumLength: 2, maximumLength: 4, pattern: "[a-zé]+")
    private static let day = AttributeDescription(
        "x", .date, minimum: .date(Date(timeIntervalSince1970: 0)), maximum: .date(Date(timeIntervalSince1970: 86_400)))

    static let cases: [Case] = [
        Case("ATT-3 missing", name, .null, .missingRequiredValue, "“E.x” is required and has no value: set it before saving."),
        Case("ATT-3 optional", year, .null),
        Case("ATT-5 in range", year, 1900),
        Case("ATT-5 too large", year, 2101, .numberTooLarge, "“E.x” is too large: it may be at most 2100."),
        Case("ATT-5 too small", year, 1899, .numberTooSmall, "“E.x” is too small: it must be at least 1900."),
        Case(
            "ATT-1 beyond the width", year, 70_000, .numberTooLarge,
            "The number given for “E.x” is above 32767, which an integer of 16 bits cannot hold. "
                + "Give a number in range, or a wider type in the model."),
        Case(
            "ATT-1 wrong type", year, "1950", .typeMismatch,
            "The value of “E.x” must be an integer of 16 bits, and a string was given."),
        Case(
            "ATT-1 not whole", year, 1950.5, .typeMismatch,
            "The value of “E.x” must be an integer of 16 bits, and a number that is not whole was given."),
        Case("ATT-6 in range", day, .date(Date(timeIntervalSince1970: 5))),
        Case(
            "ATT-6 too late", day, .date(Date(timeIntervalSince1970: 86_401)), .dateTooLate,
            "“E.x” is too late: it may be at most 1970-01-02T00:00:00Z."),
        Case(
            "ATT-6 too soon", day, .date(Date(timeIntervalSince1970: -1)), .dateTooSoon,
            "“E.x” is too early: it must be at least 1970-01-01T00:00:00Z."),
        Case("ATT-7 fits", name, "abé"),
        Case("ATT-7 too long", name, "abcde", .stringTooLong, "“E.x” has 5 characters and may have at most 4."),
        Case("ATT-7 too short", name, "a", .stringTooShort, "“E.x” has 1 character and needs at least 2."),
        Case(
            "ATT-7 pattern is for the whole string", name, "ab1", .stringPatternMismatch,
            "“E.x” does not match the pattern [a-zé]+."),
        Case(
            "ATT-7 pattern with a choice takes the longer one", AttributeDescription("x", .string, pattern: "a|ab"), "ab"),
        Case(
            "ATT-7 bytes", AttributeDescription("x", .binary, maximumLength: 1), .data(Data([1, 2])), .stringTooLong,
            "“E.x” has 2 bytes and may have at most 1."),
    ]

    @Test("ATT-3, ATT-5 … ATT-7: a value is validated by the rules of its attribute", arguments: cases)
    func valueIsHeldToItsRules(_ test: Case) throws {
        let model = try ManagedObjectModel(entities: [Entity("E", attributes: [test.attribute])])
        let property = try model.entity(named: "E").property(named: "x")
        let errors = property.errors(for: test.value)
        #expect(errors.map(\.code) == (test.code.map { [$0] } ?? []))
        #expect(errors.first?.message == test.message)
        if let error = errors.first {
            #expect(error.entity == "E" && error.key == "x")
            #expect(!error.description.contains("abcde"))
            #expect(throws: error) { try property.validate(test.value) }
        }
    }

    @Test("ATT-6: a date that is no point in time is invalid")
    func dateThatIsNoPointInTimeIsInvalid() throws {
        let model = try ManagedObjectModel { Entity("E") { Attribute<Date>("x") } }
        let errors = try model.entity(named: "E").property(named: "x").errors(for: .date(Date(timeIntervalSince1970: .nan)))
        #expect(errors.map(\.code.rawValue) == [1650])
        #expect(errors.map(\.message) == ["“E.x” has a date that is not a point in time."])
    }

    @Test("VAL-3: several broken rules make one error 1560")
    func severalBrokenRulesMakeOneError() throws {
        let model = try ManagedObjectModel(entities: [Entity("E", attributes: [Self.name])])
        let error = #expect(throws: HornbeamError.self) { try model.entity(named: "E").property(named: "x").validate("ABCDE") }
        #expect(error?.code.rawValue == 1560)
        #expect(error?.details.map(\.code.rawValue) == [1660, 1680])
    }

    @Test(
        "REL-2: counts are held to their limits, an empty optional relationship is free",
        arguments: [
            (true, 2, 3, 0, nil), (true, 2, 3, 1, 1580), (true, 2, 3, 2, nil), (true, 2, 3, 4, 1590),
            (false, 0, 0, 0, nil), (false, 0, 0, 1, nil), (false, 1, 0, 0, 1580), (false, 2, 3, 0, 1580), (true, 0, 0, 1000, nil),
        ] as [(Bool, Int, Int, Int, Int?)])
    func countsAreHeldToLimits(_ optional: Bool, _ fewest: Int, _ most: Int, _ count: Int, _ code: Int?) throws {
        let model = try ManagedObjectModel {
            Entity("E") { ToMany("all", to: "E", optional: optional, minCount: fewest, maxCount: most) }
        }
        let property = try model.entity(named: "E").property(named: "all")
        #expect(property.error(forCount: count)?.code.rawValue == code)
    }

    @Test("REL-2: a required to-one must have an object; REL-6: the error of a deny rule names the protected objects")
    func requiredToOneMustLeadSomewhere() throws {
        let model = try ManagedObjectModel { Entity("E") { ToOne("next", to: "E", optional: false, deleteRule: .deny) } }
        let next = try model.entity(named: "E").property(named: "next")
        #expect(next.error(forCount: 0)?.code == .missingRequiredValue)
        #expect(next.error(forCount: 1) == nil)
        #expect(next.denial(count: 1).code.rawValue == 1600)
        #expect(
            next.denial(count: 2).message == "The object cannot be deleted while “E.next” leads to 2 objects: "
                + "remove or delete them first.")
    }

    @Test("MDL-3: messages use the names of the localisation dictionary")
    func messagesUseLocalizedNames() throws {
        var definition = Library.definition()
        definition.localizationDictionary = ["Property/title/Entity/Item": "Titel", "Property/pages": "Seiten"]
        let book = try ManagedObjectModel(definition).entity(named: "Book")
        #expect(try book.property(named: "title").errors(for: "").first?.message == "“Titel” has 0 characters and needs at least 1.")
        #expect(try book.property(named: "pages").errors(for: 0).first?.message == "“Seiten” is too small: it must be at least 1.")
    }

    @Test("ATT-8: the error of a violated rule has the warning text of the model")
    func brokenRuleGivesItsWarning() throws {
        var definition = ModelDefinition(entities: [
            Entity("Run", attributes: [
                AttributeDescription(
                    "processID", .integer32, default: 0,
                    rules: [ValidationRule("SELF >= 0", warning: "Process ID < 0"), ValidationRule("SELF != 13")])
            ])
        ])
        let run = try ManagedObjectModel(definition).entity(named: "Run").property(named: "processID")
        #expect(run.errors(for: 5) == [])
        #expect(run.errors(for: -1).map(\.message) == ["Process ID < 0"])
        #expect(run.errors(for: -1).map(\.code.rawValue) == [1550])
        #expect(run.errors(for: 13).map(\.message) == ["“Run.processID” breaks the rule SELF != 13."])
        definition.localizationDictionary = ["ErrorString/Process ID < 0": "Die Nummer ist negativ."]
        let localized = try ManagedObjectModel(definition).entity(named: "Run").property(named: "processID")
        #expect(localized.errors(for: -1).map(\.message) == ["Die Nummer ist negativ."])
        definition.entities[0].attributes[0].rules = [ValidationRule("SELF >=")]
        let error = #expect(throws: HornbeamError.self) { try ManagedObjectModel(definition) }
        #expect(error?.message.contains("“Run.processID” has the rule SELF >=, which does not parse.") == true)
    }

    @Test("ATT-13: the elements of a composite are converted and validated by their own rules")
    func compositeElementsAreHeldToTheirRules() throws {
        let model = try ManagedObjectModel(ModelDefinition(
            entities: [
                Entity("Quake", attributes: [AttributeDescription("size", .composite, composite: "Magnitude")]) 
            ],
            composites: [
                CompositeDescription("Magnitude", [
                    AttributeDescription("richter", .double, minimum: 0), AttributeDescription("unit", .string, optional: true),
                    AttributeDescription("place", .composite, optional: true, composite: "Point"),
                ]),
                CompositeDescription("Point", [AttributeDescription("x", .double)]),
            ]))
        let size = try model.entity(named: "Quake").property(named: "size")
        #expect(try size.coerced(.dictionary(["richter": 5])) == .dictionary(["richter": .double(5)]))
        #expect(size.errors(for: .dictionary(["richter": 5])) == [])
        #expect(size.errors(for: .dictionary(["richter": -1, "place": .dictionary([:])])).map(\.message) == [
            "“Quake.size.richter” is too small: it must be at least 0.0.",
            "“Quake.size.place.x” is required and has no value: set it before saving.",
        ])
        #expect(size.errors(for: .dictionary(["richtr": 1])).map(\.message) == [
            "The composite attribute “Quake.size” has no element “richtr” (did you mean “richter”?)."
        ])
        #expect(size.errors(for: .dictionary(["richter": "5"])).map(\.message) == [
            "The value of “Quake.size.richter” must be a double, and a string was given."
        ])
        #expect(size.errors(for: 5).map(\.code) == [.typeMismatch])
    }

    @Test("ATT-7: a pattern that needs too many steps is an error", .timeLimit(.minutes(20)))
    func slowPatternFails() throws {
        let attribute = AttributeDescription("x", .string, pattern: "(a+)+b")
        let property = try ManagedObjectModel(entities: [Entity("E", attributes: [attribute])]).entity(named: "E").property(named: "x")
        let errors = property.errors(for: .string(String(repeating: "a", count: 60)))
        #expect(errors.map(\.code.rawValue) == [1680])
        #expect(errors.first?.cause?.contains("needs too many steps") == true)
        #expect(property.errors(for: "aab") == [])
    }
}
