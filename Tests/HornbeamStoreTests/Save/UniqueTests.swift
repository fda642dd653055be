import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Unique constraints")
struct UniqueTests {
    let library: Library

    init() throws { library = try Library() }

    @Test("MOD-8: a constraint holds over the whole hierarchy below the entity that declares it")
    func constraintsAreHierarchyWide() throws {
        let book = try library.insert("Book", ["title": "A", "isbn": "1"])
        let conflicts = try #require(throws: SaveConflicts.self) {
            try library.insert("Journal", ["title": "B", "isbn": "1"])
        }
        let conflict = try #require(conflicts.uniques.first)
        #expect(conflicts.uniques.count == 1)
        #expect(conflict.entity.name == "Publication")
        #expect(conflict.existing == book)
        #expect(conflict.existingVersion == 1)
        #expect(conflict.values == ["1"])
        #expect(conflict.existingValues?.contains("A") == true)
    }

    @Test("MOD-8: nil collides with nothing, in compound constraints too")
    func nilNeverCollides() throws {
        try library.insert("Book", ["title": "A"])
        try library.insert("Book", ["title": "B"])
        try library.insert("Tag", ["label": "x"])
        try library.insert("Tag", ["label": "x"])
        try library.insert("Tag", ["label": "x", "language": "de"])
        try library.insert("Tag", ["label": "x", "language": "en"])
        #expect(throws: SaveConflicts.self) { try library.insert("Tag", ["label": "x", "language": "en"]) }
    }

    @Test("two objects may swap their values in one save")
    func swapIsNoConflict() throws {
        let ada = try library.insert("Author", ["name": "Ada"])
        let bob = try library.insert("Author", ["name": "Bob"])
        var changes = try library.updating(ada, ["name": "Bob"])
        changes.updates += try library.updating(bob, ["name": "Ada"]).updates
        _ = try library.store.save(changes)
        #expect(try library.value(ada, "name") == "Bob")
        #expect(throws: SaveConflicts.self) { try library.update(bob, ["name": "Bob"]) }
    }

    @Test("a deleted object's value is free in the same save")
    func deletionFreesTheValue() throws {
        let ada = try library.insert("Author", ["name": "Ada"])
        var changes = ChangeSet()
        changes.deletes = [ChangeSet.Delete(entity: library.entity("Author"), key: ada.key, expectedVersion: 1)]
        let other = try library.add("Author", ["name": "Ada"], to: &changes)
        _ = try library.store.save(changes)
        #expect(try library.row(ada) == nil)
        #expect(try library.value(other, "name") == "Ada")
    }

    @Test("MRG-9: collisions in a large save are reported in the order of its objects, as in a small save", arguments: [20, 255, 256, 400])
    func largeSavesReportInOrder(count: Int) throws {
        let stored = try library.insert("Author", ["name": "5"])
        var changes = ChangeSet()
        var holders = ["5": stored]
        var collisions: [(name: String, objects: [ObjectReference])] = []
        for number in 0..<count {
            // Names in random order, about every tenth twice.
            let name = "\(number * 7919 % (count * 9 / 10))"
            let object = try library.add("Author", ["name": .string(name)], to: &changes)
            guard let holder = holders[name] else {
                holders[name] = object
                continue
            }
            if let place = collisions.firstIndex(where: { $0.name == name }) {
                collisions[place].objects.append(object)
            } else {
                collisions.append((name, holder == stored ? [object] : [holder, object]))
            }
        }
        let conflicts = try #require(throws: SaveConflicts.self) { try library.store.save(changes) }
        #expect(conflicts.uniques.map(\.values) == collisions.map { [.string($0.name)] })
        #expect(conflicts.uniques.map(\.objects) == collisions.map(\.objects))
        #expect(conflicts.uniques.map(\.existing) == collisions.map { $0.name == "5" ? stored : nil })
        #expect(try library.store.snapshot().count(FetchDescription(entityName: "Author")) == 1)
    }

    @Test("MRG-9: objects of one save with the same unique value are reported together")
    func collisionsInsideOneSave() throws {
        var changes = ChangeSet()
        let a = try library.add("Author", ["name": "Ada"], to: &changes)
        let b = try library.add("Author", ["name": "Ada"], to: &changes)
        let c = try library.add("Author", ["name": "Ada"], to: &changes)
        let conflicts = try #require(throws: SaveConflicts.self) { try library.store.save(changes) }
        #expect(conflicts.uniques.count == 1)
        #expect(conflicts.uniques[0].objects == [a, b, c])
        #expect(conflicts.uniques[0].existing == nil)
    }

    @Test("values over a kilobyte are unique too")
    func longValuesAreUnique() throws {
        let long = String(repeating: "x", count: 3_000)
        let first = try library.insert("Author", ["name": .string(long + "1")])
        try library.insert("Author", ["name": .string(long + "2")])
        let conflicts = try #require(throws: SaveConflicts.self) {
            try library.insert("Author", ["name": .string(long + "1")])
        }
        #expect(conflicts.uniques[0].existing == first)
        try library.delete(first)
        try library.insert("Author", ["name": .string(long + "1")])
    }
}
