import HornbeamModel
import Testing
@testable import HornbeamStore

extension Library {
    /// Inserts rows, and returns the outcome of each: the object, and whether it was inserted, updated or skipped for the row.
    @discardableResult
    func insertBatch(
        _ rows: [Library.Values], of entity: String, _ rule: BatchWriter.ConflictRule, members: [[String: [ObjectReference]]] = [],
        commitEvery: Int = 0
    ) throws -> [(object: ObjectReference, action: String)] {
        var options = BatchWriter.Options()
        (options.conflictRule, options.commitEvery) = (rule, commitEvery)
        let writer = try store.batchWriter(for: self.entity(entity), options: options)
        var outcomes: [(ObjectReference, String)] = []
        for (number, row) in rows.enumerated() {
            var values = [PropertyValue?](repeating: nil, count: self.entity(entity).properties.count)
            for (name, value) in row { values[property(name, of: entity).index] = value }
            var added: [Int: [ObjectReference]] = [:]
            for (name, objects) in members.indices.contains(number) ? members[number] : [:] { added[property(name, of: entity).index] = objects }
            switch try writer.append(values, members: added) {
            case .inserted(let object): outcomes.append((object, "inserted"))
            case .updated(let object): outcomes.append((object, "updated"))
            case .skipped(let object): outcomes.append((object, "skipped"))
            }
        }
        try writer.finish()
        return outcomes
    }
}

@Suite("Conflict rules of batch inserts")
struct ConflictRuleTests {
    private func items() throws -> Library {
        try Library(
            model: ManagedObjectModel {
                Entity("Thing", abstract: true) {
                    Attribute("code", .integer64, optional: true, unique: true)
                    Attribute("name", .string, optional: true, unique: true)
                    Attribute<Int?>("price")
                }
                Entity("Item", parent: "Thing") { ToMany("parts", to: "Part", inverse: "item") }
                Entity("Kit", parent: "Item") { Attribute<Int?>("size", indexed: true) }
                Entity("Service", parent: "Thing") { Attribute<Int?>("hours") }
                Entity("Part") { ToOne("item", to: "Item", inverse: "parts") }
            })
    }

    @Test("BAT-1: a row is skipped if any objects have its unique values, also objects of other entities")
    func skip() throws {
        let library = try items()
        let item = try library.insert("Item", ["code": 1, "name": "a"])
        let service = try library.insert("Service", ["code": 2, "name": "b"])
        let outcomes = try library.insertBatch([["code": 1, "name": "b"], ["code": 2], ["name": "b", "price": 7], ["code": 3]], of: "Item", .skip)
        #expect(outcomes.map(\.action) == ["skipped", "skipped", "skipped", "inserted"])
        #expect(try library.version(item) == 1 && library.version(service) == 1)
        #expect(try library.store.check().problems == [])
    }

    @Test("BAT-1: a row updates an object of a subentity, and is refused if its unique values belong to several objects or to one of another entity")
    func update() throws {
        let library = try items()
        let kit = try library.insert("Kit", ["code": 1, "size": 5])
        try library.insert("Service", ["code": 2])
        let part = try library.insert("Part")
        let outcomes = try library.insertBatch([["code": 1, "name": "a", "price": 7]], of: "Item", .update, members: [["parts": [part]]])
        #expect(outcomes.map(\.action) == ["updated"] && outcomes[0].object == kit)
        #expect(try library.value(kit, "name") == "a" && library.value(kit, "price") == 7 && library.value(kit, "size") == 5)
        #expect(try library.members(kit, "parts") == [part] && library.value(part, "item") == library.id(kit))
        try library.insert("Item", ["code": 3])
        for row: Library.Values in [["code": 2], ["code": 3, "name": "a"]] {
            #expect(throws: SaveConflicts.self) { try library.insertBatch([row], of: "Item", .update) }
        }
        #expect(try library.store.check().problems == [])
    }
}
