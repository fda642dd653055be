import Foundation
import Hornbeam
import HornbeamConformance
import Testing

/// Reads of announced saves of other processes beside saves of this one.
@Suite struct AnnouncedSaveTests {
    private func container(_ store: AnsweringStore) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: StoreConformance.model())
        container.persistentStoreDescriptions = [.custom(store)]
        try container.loadPersistentStores()
        return container
    }

    private static func authors(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")]))
    }

    private static func insert(_ name: String, born: Int64, in container: PersistentContainer) throws {
        let context = container.newContext()
        let author = try context.insert(entityNamed: "Author")
        try author.setValue(.string(name), forKey: "name")
        try author.setValue(.int(born), forKey: "born")
        try context.save()
    }

    /// Two processes that have read an author of 1900; the first one receives announcements.
    private func processes() throws -> (store: AnsweringStore, first: PersistentContainer, second: PersistentContainer) {
        let store = AnsweringStore(announces: true)
        let first = try container(store)
        try Self.insert("a", born: 1900, in: first)
        return (store, first, try container(AnsweringStore(sharing: store)))
    }

    private func change(_ container: PersistentContainer, to born: Int64) throws {
        let context = container.newContext()
        try Self.authors(context)[0].setValue(.int(born), forKey: "born")
        try context.save()
    }

    @Test("CST-3: an announced save is read once beside a save of other objects")
    func savesOfOthersDoNotRepeatTheRead() throws {
        let (store, first, second) = try processes()
        store.callAfterRows { try? Self.insert("b", born: 1950, in: first) }
        _ = store.takeLog()
        try change(second, to: 1901)
        #expect(store.takeLog().filter { $0.hasPrefix("rows") } == ["rows 1"])
        let context = first.newContext()
        #expect(try Self.authors(context).map { try $0.value(forKey: "born") } == [1901, 1950])
    }

    @Test("CST-3: an announced save is read again beside a save of the same object, whose row remains")
    func savesOfTheObjectRepeatTheRead() throws {
        let (store, first, second) = try processes()
        store.callAfterRows {
            let context = first.newContext()
            try? Self.authors(context).first?.setValue(.int(2000), forKey: "born")
            try? context.save()
        }
        _ = store.takeLog()
        try change(second, to: 1901)
        #expect(store.takeLog().filter { $0.hasPrefix("rows") } == ["rows 1", "rows 1"])
        let context = first.newContext()
        #expect(try Self.authors(context).map { try $0.value(forKey: "born") } == [2000])
    }

    @Test("CST-3: an announced save is read again beside a save of its former unique value")
    func savesOfAUniqueValueRepeatTheRead() throws {
        let (store, first, second) = try processes()
        store.callAfterRows {
            // Another process renames the author once more, and announces it later.
            store.database.change { content in
                for key in content.rows.keys where content.rows[key]?.values["name"] == .string("b") {
                    content.rows[key]?.version = 3
                    content.rows[key]?.values["name"] = .string("c")
                }
            }
            try? Self.insert("b", born: 1950, in: first)
        }
        let context = second.newContext()
        try Self.authors(context)[0].setValue("b", forKey: "name")
        try context.save()
        let found = first.newContext()
        #expect(try Self.authors(found).map { try $0.value(forKey: "name") } == [.string("b"), .string("c")])
    }

    /// The rows that were read first can still refer to the deleted object.
    @Test("CST-3: an announced save is read again beside a save that deletes another object")
    func deletionsRepeatTheRead() throws {
        let (store, first, second) = try processes()
        try Self.insert("b", born: 1950, in: first)
        store.callAfterRows {
            let context = first.newContext()
            if let author = try? Self.authors(context).last { context.delete(author) }
            try? context.save()
            _ = store.takeLog()
        }
        try change(second, to: 1901)
        #expect(store.takeLog().filter { $0.hasPrefix("rows") } == ["rows 1"])
        let found = first.newContext()
        #expect(try Self.authors(found).map { try $0.value(forKey: "born") } == [1901])
    }
}
