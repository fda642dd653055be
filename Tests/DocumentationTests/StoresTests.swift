import Foundation
import Hornbeam
import HornbeamConformance
import Synchronization
import Testing

/// The code of `Docs/Stores.md`.
@Suite struct StoresTests {
    @Test func containerHasTwoStores() throws {
        let folder = try TemporaryFolder()
        let library = folder.url.appending(path: "Library.hornbeam")
        // snippet
        let model = try ManagedObjectModel {
            Entity("Book") { Attribute<String>("title") }
            Entity("Thumbnail") { Attribute<Data>("image") }
            Configuration("Lasting", ["Book"])
            Configuration("Cache", ["Thumbnail"])
        }
        let container = try PersistentContainer(name: "Library", model: model)
        container.persistentStoreDescriptions = [
            PersistentStoreDescription(url: library),          // lasting data
            .inMemory(),                                       // temporary data
        ]
        container.persistentStoreDescriptions[0].configurationName = "Lasting"
        container.persistentStoreDescriptions[1].configurationName = "Cache"
        try container.loadPersistentStores()
        // end
        try container.write { context in
            try context.insert(entityNamed: "Book").setValue("Frankenstein", forKey: "title")
            try context.insert(entityNamed: "Thumbnail").setValue(Data([1]), forKey: "image")
        }
        try container.close()
        let reopened = try PersistentContainer.openReadOnly(at: library)
        #expect(try reopened.read { try $0.count(FetchRequest<ManagedObject>(entityName: "Book")) } == 1)
        try reopened.close()
    }

    @Test func processesShareAStore() throws {
        let folder = try TemporaryFolder()
        let library = folder.url.appending(path: "Library.hornbeam")
        let container = try PersistentContainer(name: "Library", model: ManagedObjectModel { Entity("Book") { Attribute<String>("title") } })
        // snippet
        var description = PersistentStoreDescription(url: library)
        description.isShared = true
        description.busyTimeout = .seconds(5)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        // end
        try container.write { try $0.insert(entityNamed: "Book").setValue("Frankenstein", forKey: "title") }
        #expect(try container.read { try $0.count(FetchRequest<ManagedObject>(entityName: "Book")) } == 1)
        try container.close()
    }

    // snippet
    /// Rows in one JSON file: an atomic store, which gives all of them when it is added.
    final class FileStore: CustomStore {
        private struct Content: Codable {
            var identifier = UUID()
            var lastKey: UInt64 = 0
            var rows: [UInt64: CustomStoreRow] = [:]
            var metadata: [String: PropertyValue] = [:]

            mutating func apply(_ changes: CustomStoreChanges) {
                for row in changes.inserted { rows[row.object.key] = row }
                for row in changes.updated {
                    rows[row.object.key]?.values.merge(row.values) { $1 }
                    rows[row.object.key]?.destinations.merge(row.destinations) { $1 }
                    for name in changes.cleared[row.object] ?? [] { rows[row.object.key]?.destinations[name] = nil }
                }
                for object in changes.deleted {
                    rows[object.key] = nil
                    for (key, row) in rows {
                        for name in row.members.keys { rows[key]?.members[name]?.removeAll { $0 == object } }
                    }
                }
                for change in changes.members {
                    let old = rows[change.owner.key]?.members[change.relationship] ?? []
                    let members = old.filter { !change.removed.contains($0) } + change.added
                    rows[change.owner.key]?.members[change.relationship] = change.order ?? members
                }
            }
        }

        private let url: URL
        private let content: Mutex<Content>

        init(at url: URL) throws {
            self.url = url
            let isThere = FileManager.default.fileExists(atPath: url.path)
            content = Mutex(isThere ? try JSONDecoder().decode(Content.self, from: Data(contentsOf: url)) : Content())
        }

        var identifier: UUID { content.withLock { $0.identifier } }
        var isAtomic: Bool { true }
        var metadata: [String: PropertyValue] { content.withLock { $0.metadata } }

        func open(_ model: ManagedObjectModel) throws {}

        func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] { content.withLock { Array($0.rows.values) } }

        func newKeys(for entityNames: [String]) throws -> [UInt64] {
            content.withLock { content in
                entityNames.map { _ in
                    content.lastKey += 1
                    return content.lastKey
                }
            }
        }

        func save(_ changes: CustomStoreChanges) throws { try write { $0.apply(changes) } }

        func setMetadata(_ metadata: [String: PropertyValue]) throws { try write { $0.metadata = metadata } }

        private func write(_ change: (inout Content) -> Void) throws {
            try content.withLock { content in
                var next = content
                change(&next)
                try JSONEncoder().encode(next).write(to: url, options: .atomic)
                content = next
            }
        }
    }
    // end

    @Test func customStorePassesTheConformanceSuite() throws {
        let folder = try TemporaryFolder()
        func freshURL() -> URL { folder.url.appending(path: UUID().uuidString) }
        // snippet
        let conformance = StoreConformance(reopening: { .custom(try FileStore(at: $0.url), at: $0.url) }) {
            let url = freshURL()
            return .custom(try FileStore(at: url), at: url)
        }
        for failure in conformance.run() { Issue.record("\(failure)") }
        // end
    }
}
