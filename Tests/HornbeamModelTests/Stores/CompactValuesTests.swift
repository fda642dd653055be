import Foundation
import HornbeamModel
import Testing

/// Values without references, and tables of them.
@Suite struct CompactValuesTests {
    private static let values: [PropertyValue] = [
        .null, .bool(true), .bool(false), .int(.min), .int(.max), .double(-0.0), .double(.infinity), .double(0.1), .date(Date(timeIntervalSinceReferenceDate: -1.5)),
        .string(""), .string("plain"), .string("a text of more than fifteen bytes"), .string("e\u{301}\u{0}\u{1}"), .data(Data([0, 255])), .uuid(UUID()),
        .uri(URL(string: "https://example.org/a")!), .decimal(Decimal(string: "1.50")!), .array([.int(1)]), .dictionary(["a": .null]),
    ]

    @Test("each value is returned as it was appended")
    func values() {
        var compact = CompactValues()
        for value in Self.values + Self.values.reversed() { compact.append(value) }
        for (place, value) in (Self.values + Self.values.reversed()).enumerated() { #expect(compact.propertyValue(compact[place]) == value) }
        #expect(compact.propertyValue(compact[5]).description == PropertyValue.double(-0.0).description)
    }

    @Test("the rows of a table are those that were appended, in any order of their keys")
    func rows() throws {
        let model = try ManagedObjectModel {
            Entity("Sample") {
                Attribute("text", .string, optional: true)
                Attribute("number", .double, optional: true)
                Attribute("code", .uuid, optional: true)
                ToOne("next", to: "Sample")
            }
        }
        let entity = try model.entity(named: "Sample")
        var table = CustomStoreTable(of: entity)
        var expected: [UInt64: CustomStoreRow] = [:]
        for key in [5, 2, 9, 1] as [UInt64] {
            table.beginRow(key: key, version: key + 1)
            var row = CustomStoreRow(CustomStoreKey("Sample", key), version: key + 1)
            for property in table.properties {
                switch property.name {
                case "text": row.values["text"] = .string(String(repeating: "text ", count: Int(key)))
                case "number": if key > 2 { row.values["number"] = .double(Double(key) / 3) }
                case "code": if key != 9 { row.values["code"] = .uuid(UUID()) }
                default: if key == 2 { row.destinations["next"] = CustomStoreKey("Sample", 5) }
                }
                if property.isAttribute {
                    table.append(row.values[property.name] ?? .null)
                } else {
                    let destination = row.destinations["next"]
                    table.append(destination: destination?.key, destination.map { _ in entity })
                }
            }
            expected[key] = row
        }
        let sorted = table.sortedByKey
        #expect(sorted.keys == [1, 2, 5, 9])
        for (place, key) in sorted.keys.enumerated() { #expect(sorted.row(place, in: model) == expected[key]) }
        for (place, key) in table.keys.enumerated() { #expect(table.row(place, in: model) == expected[key]) }
    }
}
