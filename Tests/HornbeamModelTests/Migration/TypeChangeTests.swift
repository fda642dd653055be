import Foundation
import HornbeamModel
import Testing

@Suite struct TypeChangeTests {
    @Test(
        "N-11: a value becomes the same value of another type",
        arguments: [
            ("12", .integer16, 12), (" -7\n", .integer64, -7), ("3.5", .double, 3.5), ("1e3", .double, 1_000.0),
            ("0.1", .decimal, .decimal(Decimal(string: "0.1")!)),
            ("Yes", .boolean, true), ("0", .boolean, false), (1, .boolean, true), (0, .boolean, false), (true, .integer32, 1), (true, .string, "true"),
            (12, .string, "12"), (2.5, .string, "2.5"), (3.0, .integer16, 3), (0.1, .decimal, .decimal(Decimal(string: "0.1")!)),
            (.decimal(7), .integer32, 7), (.decimal(7), .double, 7.0), (.null, .integer16, .null), (5, .integer64, 5), (70_000, .integer32, 70_000),
            (.date(Date(timeIntervalSinceReferenceDate: 60)), .double, 60.0), (60.0, .date, .date(Date(timeIntervalSinceReferenceDate: 60))),
            (.date(Date(timeIntervalSinceReferenceDate: 0.5)), .string, "2001-01-01T00:00:00.500Z"),
            ("2001-01-01T00:00:00.500Z", .date, .date(Date(timeIntervalSinceReferenceDate: 0.5))),
            ("2001-01-01T00:01:00Z", .date, .date(Date(timeIntervalSinceReferenceDate: 60))),
            ("https://example.org/a", .uri, .uri(URL(string: "https://example.org/a")!)),
            ("aGk=", .binary, .data(Data("hi".utf8))), (.data(Data("hi".utf8)), .string, "aGk="),
        ] as [(PropertyValue, AttributeType, PropertyValue)])
    func valuesAreConverted(value: PropertyValue, type: AttributeType, expected: PropertyValue) {
        #expect(value.converted(to: type) == expected)
    }

    @Test(
        "N-11: a value that another type cannot hold is not converted, and not cut",
        arguments: [
            ("", .integer16), ("twelve", .integer16), ("12.5", .integer16), ("70000", .integer16), (70_000, .integer16), (2.5, .integer32),
            ("inf", .double), ("1,5", .double), ("NaN", .decimal), ("maybe", .boolean), (2, .boolean), ("yesterday", .date), ("x", .uuid), ("?", .binary),
            (.double(.nan), .decimal), (.data(Data([1])), .integer16),
        ] as [(PropertyValue, AttributeType)])
    func valuesAreNotConverted(value: PropertyValue, type: AttributeType) {
        #expect(value.converted(to: type) == nil)
    }
}
