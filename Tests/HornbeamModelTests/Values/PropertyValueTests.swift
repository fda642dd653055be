import Foundation
import HornbeamModel
import Testing

@Suite struct PropertyValueTests {
    private static let decimal = PropertyValue.decimal(Decimal(string: "0.1")!)

    @Test(
        "Numbers of all types compare by value",
        arguments: [
            (.int(1), .double(1), .same), (.int(1), .bool(true), .same), (.int(1), .decimal(1), .same),
            (.bool(false), .double(-0.0), .same), (.double(0.1), decimal, .same), (.int(2), .double(1.5), .greater),
            (.int(-2), .double(-1.5), .less), (.int(1), .double(1.5), .less), (.int(-1), .double(-1.5), .greater),
            (.int(.max), .double(0x1p63), .less), (.int(.min), .double(-0x1p63), .same),
            (.int(9_007_199_254_740_993), .double(9_007_199_254_740_992), .greater),
            (.int(0), .double(.infinity), .less), (.double(-.infinity), .int(.min), .less),
            (.decimal(Decimal(string: "12345678901234567890")!), .int(.max), .greater),
            (.string("a"), .string("b"), .less), (.string("a"), .string("ab"), .less), (.string("Z"), .string("a"), .less),
            (.string("é"), .string("e\u{301}"), .greater), (.string(""), .string(""), .same),
            (.date(Date(timeIntervalSince1970: 1)), .date(Date(timeIntervalSince1970: 2)), .less),
            (.data(Data([1])), .data(Data([1, 0])), .less),
        ] as [(PropertyValue, PropertyValue, ValueOrder)])
    func valuesCompare(_ a: PropertyValue, _ b: PropertyValue, _ order: ValueOrder) {
        #expect(a.compared(to: b) == order)
        #expect(b.compared(to: a) == order.reversed)
        #expect(a.isEqual(to: b) == (order == .same))
        #expect(a.sortOrder(to: b) == order)
    }

    @Test("Values of kinds that have no common order are not compared and not equal")
    func strangersDoNotCompare() {
        for (a, b) in [(.null, .int(0)), (.string("1"), .int(1)), (.double(.nan), .double(.nan)), (.null, .string(""))]
            as [(PropertyValue, PropertyValue)]
        {
            #expect(a.compared(to: b) == nil)
            #expect(!a.isEqual(to: b))
        }
        #expect(PropertyValue.null.isEqual(to: .null))
        #expect(PropertyValue.array([1, 2]).isEqual(to: .array([.double(1), 2])))
    }

    @Test("FET-3: sorting puts nil first and orders any two values")
    func sortingIsTotal() {
        let ordered: [PropertyValue] = [
            .null, .double(.nan), .int(-1), .bool(false), .double(0.5), .bool(true), .decimal(2), .string(""), .string("a"),
            .date(Date(timeIntervalSince1970: 0)), .data(Data()), .uuid(UUID()), .uri(URL(string: "a:b")!), .array([]), .array([1]),
            .array([1, .null]), .array([2]),
        ]
        for (i, a) in ordered.enumerated() {
            for (j, b) in ordered.enumerated() {
                #expect(a.sortOrder(to: b) == (i < j ? .less : (i == j ? .same : .greater)), "\(a) and \(b)")
            }
        }
    }

    @Test("Equality in sets distinguishes kinds and bytes")
    func structuralEqualityTellsKindsApart() {
        #expect(PropertyValue.int(1) != .double(1))
        #expect(PropertyValue.string("é") != .string("e\u{301}"))
        #expect(PropertyValue.double(.nan) == .double(.nan))
        #expect(Set<PropertyValue>([.double(0), .double(-0.0), .double(.nan), .double(.nan)]).count == 2)
    }

    @Test("ATT-1: a URI that is relative to another one equals the absolute URI, also in sets and as an element of a collection")
    func relativeURIsEqualAbsoluteOnes() throws {
        let folder = try #require(URL(string: "https://example.org/d/"))
        let relative = PropertyValue.uri(try #require(URL(string: "a", relativeTo: folder)))
        let absolute = PropertyValue.uri(try #require(URL(string: "https://example.org/d/a")))
        #expect(relative == absolute && relative.isEqual(to: absolute))
        #expect(Set([relative, absolute]).count == 1)
        #expect(PropertyValue.set([relative, 1]).isEqual(to: .set([absolute, 1])))
        #expect(relative != .uri(try #require(URL(string: "a"))))
    }

    struct Coercion: Sendable, CustomTestStringConvertible {
        let value: PropertyValue
        let type: AttributeType
        let result: PropertyValue?
        var testDescription: String { "\(value) as \(type)" }
    }

    static let coercions: [Coercion] = [
        Coercion(value: .double(3), type: .integer16, result: .int(3)),
        Coercion(value: .double(3.5), type: .integer64, result: nil),
        Coercion(value: .bool(true), type: .integer32, result: .int(1)),
        Coercion(value: .int(32_767), type: .integer16, result: .int(32_767)),
        Coercion(value: .int(32_768), type: .integer16, result: nil),
        Coercion(value: .int(-32_769), type: .integer16, result: nil),
        Coercion(value: .double(1e300), type: .integer64, result: nil),
        Coercion(value: .double(.nan), type: .integer64, result: nil),
        Coercion(value: .decimal(Decimal(string: "9007199254740993")!), type: .integer64, result: .int(9_007_199_254_740_993)),
        Coercion(value: .decimal(Decimal(Int64.max)), type: .integer64, result: .int(.max)),
        Coercion(value: .decimal(Decimal(Int64.min)), type: .integer64, result: .int(.min)),
        Coercion(value: .decimal(Decimal(string: "-1.5")!), type: .integer64, result: nil),
        Coercion(value: .int(3), type: .double, result: .double(3)),
        Coercion(value: .double(-0.0), type: .double, result: .double(0)),
        Coercion(value: .double(0.1), type: .float, result: .double(Double(Float(0.1)))),
        Coercion(value: .double(1e300), type: .float, result: nil),
        Coercion(value: .double(0.1), type: .decimal, result: decimal),
        Coercion(value: .double(.infinity), type: .decimal, result: nil),
        Coercion(value: .int(1), type: .boolean, result: .bool(true)),
        Coercion(value: .int(2), type: .boolean, result: nil),
        Coercion(value: .int(1), type: .string, result: nil),
        Coercion(value: .string("1"), type: .integer16, result: nil),
        Coercion(value: .string("a"), type: .string, result: .string("a")),
        Coercion(value: .null, type: .uuid, result: .null),
        Coercion(value: .string("x"), type: .uuid, result: nil),
        Coercion(value: .data(Data()), type: .transformable, result: .data(Data())),
        Coercion(value: .int(1), type: .date, result: nil),
        Coercion(value: .array([]), type: .undefined, result: .array([])),
    ]

    @Test("ATT-1: a value is converted to the type of its attribute, or refused", arguments: coercions)
    func valueIsConvertedOrRefused(_ test: Coercion) throws {
        guard let result = test.result else {
            let error = #expect(throws: HornbeamError.self) { try test.value.coerced(to: test.type, entity: "E", key: "k") }
            #expect(error?.message.contains("“E.k”") == true)
            return
        }
        #expect(try test.value.coerced(to: test.type) == result)
    }

    @Test("Values are printed in a form for tables")
    func valuesAreShown() {
        let shown: [(PropertyValue, String)] = [
            (.null, "nil"), (.bool(true), "true"), (.int(-5), "-5"), (.double(1.5), "1.5"), (.decimal(2), "2"), (.string("a b"), "a b"),
            (.date(Date(timeIntervalSince1970: 0)), "1970-01-01T00:00:00Z"),
            (.date(Date(timeIntervalSince1970: 951_782_399.25)), "2000-02-28T23:59:59.250Z"),
            (.date(Date(timeIntervalSince1970: -1)), "1969-12-31T23:59:59Z"),
            (.date(Date(timeIntervalSince1970: 253_402_300_799)), "9999-12-31T23:59:59Z"),
            (.date(Date(timeIntervalSince1970: -62_135_596_800)), "0001-01-01T00:00:00Z"),
            (.date(Date(timeIntervalSince1970: .infinity)), "inf s since 1970"),
            (.data(Data([1, 2, 3])), "3 bytes"), (.array([1, "a"]), "[1, a]"), (.set([2, 1]), "{1, 2}"),
            (.dictionary(["b": 1, "a": .null]), "[a: nil, b: 1]"),
        ]
        for (value, text) in shown { #expect(value.description == text) }
    }

    @Test("A coded value reads back the same, plain where JSON has the kind")
    func codedValueReadsBack() throws {
        let id = ManagedObjectID(
            origin: .init(entityName: "Book", storeIdentifier: UUID(), entityNumber: 3), reference: 7)
        let values: [PropertyValue] = [
            .null, .bool(true), .int(.min), .double(0.1), .double(3), .double(.infinity), .double(.nan), Self.decimal, .string("é\"\n"),
            .date(Date(timeIntervalSince1970: 1.25)), .data(Data([0, 255])), .uuid(UUID()), .uri(URL(string: "https://a.b/?c")!),
            .objectID(id), .array([1, .null, .array([])]), .set([1, 2]), .dictionary(["a": .double(1)]),
        ]
        let read = try JSONDecoder().decode([PropertyValue].self, from: JSONEncoder().encode(values))
        #expect(read == values)
        #expect(String(decoding: try JSONEncoder().encode(PropertyValue.array([1, "a", true, .null])), as: UTF8.self) == "[1,\"a\",true,null]")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PropertyValue.self, from: Data("{\"float\": 1}".utf8)) }
    }
}
