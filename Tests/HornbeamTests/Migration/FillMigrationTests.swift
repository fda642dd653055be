import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Default values that a migration writes into the cells of a table, of several attributes and beside sparse leaves.
@Suite struct FillMigrationTests {
    private static let count = 3_000
    private static let names = ["grade", "weight", "remark", "place"]

    private static func model(requiring names: [String] = []) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Note") {
                Attribute("number", .integer32)
                for (name, type, value) in [
                    ("grade", AttributeType.integer32, PropertyValue.int(7)), ("weight", .double, .double(2.5)), ("remark", .string, .string("none")),
                    ("place", .string, .string(String(repeating: "somewhere ", count: 20))),
                ] {
                    Attribute(name, type, optional: !names.contains(name), default: names.contains(name) ? value : .null)
                }
            }
        }
    }

    /// Notes of which every third has all values. The long texts of most are removed again, so that leaves are sparse.
    private static func fill(_ store: MigratedStore) throws {
        try store.with(model()) { context in
            for number in 0 ..< count {
                let note = try context.insert("Note", ["number": .int(Int64(number)), "remark": .string(String(repeating: "long ", count: 40))])
                guard number % 3 == 0 else { continue }
                try note.setValue(PropertyValue.int(1), forKey: "grade")
                try note.setValue(PropertyValue.double(1), forKey: "weight")
            }
        }
        try store.with(model()) { context in
            for note in try context.all("Note", sortedBy: "number") where try note.value(forKey: "grade").isNull {
                try note.setValue(PropertyValue.null, forKey: "remark")
            }
        }
    }

    @Test(
        "MIG-2: several attributes become required, and each object without a value gets the default",
        arguments: [["grade", "weight"], ["remark", "grade"], ["weight", "remark", "place"], names])
    func severalDefaults(required: [String]) throws {
        let store = try MigratedStore()
        try Self.fill(store)
        try store.with(Self.model(requiring: required)) { context in
            let notes = try context.all("Note", sortedBy: "number")
            #expect(notes.count == Self.count)
            for (number, note) in notes.enumerated() {
                let isComplete = number % 3 == 0
                let defaults: [String: PropertyValue] = [
                    "grade": .int(isComplete ? 1 : 7), "weight": .double(isComplete ? 1 : 2.5),
                    "remark": .string(isComplete ? String(repeating: "long ", count: 40) : "none"),
                    "place": .string(String(repeating: "somewhere ", count: 20)),
                ]
                for name in required { try #require(note.value(forKey: name) == defaults[name], "\(name) of note \(number)") }
            }
        }
        // A further opening migrates nothing.
        #expect(try store.plan(Self.model(requiring: required)) == nil)
    }
}
