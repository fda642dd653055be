import Foundation
import Hornbeam
import Testing

@Suite("Section caches") struct SectionCacheTests {
    private func request() -> FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: "salary").sorted(by: "name") }

    /// Ten employees in two sections, saved, in a store with history.
    private func stack() throws -> Stack {
        let stack = try Company.stack(.onDisk)
        let context = stack.newContext()
        for number in 0 ..< 10 { context.employee("e\(number)", salary: number / 5) }
        try context.save()
        return stack
    }

    private func fetch(_ container: PersistentContainer, cacheName: String = "staff/é") throws -> [FetchedResultsSection<Employee>] {
        let context = container.newContext()
        let list = try FetchedResultsController(request(), in: context, sectionedBy: "salary", cacheName: cacheName)
        try list.performFetch()
        #expect(try list.fetchedObjects == context.fetch(request()))
        return list.sections
    }

    private func files(_ stack: Stack) -> [URL] {
        let folder = stack.url.appending(path: "section-caches")
        return (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    }

    /// Writes another name into a cache, with a checksum that is valid for it or not, so that a test sees whether the cache is used.
    private func replace(_ file: URL, _ old: String, _ new: String) throws {
        try String(contentsOf: file, encoding: .utf8).replacing(old, with: new).write(to: file, atomically: true, encoding: .utf8)
    }

    @Test("FRC-6: a cache is written by the first fetch, and used by a later one, also after the store was opened again")
    func cacheIsUsed() throws {
        let stack = try stack()
        #expect(try fetch(stack.container).map(\.name) == ["0", "1"])
        let file = try #require(files(stack).first)
        let written = try Data(contentsOf: file)
        let reopened = try stack.reopened()
        let before = try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
        #expect(try fetch(reopened).map(\.count) == [5, 5])
        #expect(try Data(contentsOf: file) == written)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date == before)
    }

    @Test("FRC-6: a save and another request make the cache invalid")
    func cacheFollowsStoreAndRequest() throws {
        let stack = try stack()
        _ = try fetch(stack.container)
        let file = try #require(files(stack).first)
        let first = try Data(contentsOf: file)
        let context = stack.newContext()
        context.employee("e10", salary: 7)
        try context.save()
        #expect(try fetch(stack.container).map(\.name) == ["0", "1", "7"])
        let second = try Data(contentsOf: file)
        #expect(first != second)
        let other = try FetchedResultsController(request().where("salary > 0"), in: context, sectionedBy: "salary", cacheName: "staff/é")
        try other.performFetch()
        #expect(other.sections.map(\.name) == ["1", "7"])
        #expect(try Data(contentsOf: file) != second)
        #expect(try fetch(stack.container).map(\.count) == [5, 5, 1])
    }

    @Test("FRC-6: another model makes the cache invalid, also without a change of the rows") func cacheFollowsModel() throws {
        let description = try Stack.freshDescription(.onDisk)
        let url = description.url.appending(path: "section-caches/shelves.json")
        var keys: [String] = []
        for version in ["1", "2"] {
            var book = Entity("Book", attributes: [AttributeDescription("shelf", .string)])
            book.versionHashModifier = version
            let model = try ManagedObjectModel(entities: [book])
            let container = try PersistentContainer(name: "Books", model: model)
            container.persistentStoreDescriptions = [description]
            try container.loadPersistentStores()
            let context = container.newContext()
            if keys.isEmpty {
                for shelf in ["novels", "poems", "poems"] { try context.insert(entityNamed: "Book")["shelf"] = .string(shelf) }
                try context.save()
            }
            let list = try FetchedResultsController(
                FetchRequest<ManagedObject>(entityName: "Book").sorted(by: "shelf"), in: context, sectionedBy: "shelf", cacheName: "shelves")
            try list.performFetch()
            #expect(list.sections.map(\.name) == ["novels", "poems"] && list.sections.map(\.count) == [1, 2])
            let content = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
            keys.append(try #require(content["key"] as? String))
            #expect(keys.last?.contains("Book \(try #require(model.entitiesByName["Book"]).versionHash)") == true)
            try container.close()
        }
        #expect(keys[0] != keys[1])
    }

    @Test("FRC-6: unsaved changes are in the sections, and are not cached") func unsavedChangesAreNotCached() throws {
        let stack = try stack()
        let context = stack.newContext()
        context.employee("new", salary: 3)
        let list = try FetchedResultsController(request(), in: context, sectionedBy: "salary", cacheName: "staff")
        try list.performFetch()
        #expect(list.sections.map(\.name) == ["0", "1", "3"] && files(stack).isEmpty)
    }

    @Test("FRC-6: names that are transient values are not cached") func transientNamesAreNotCached() throws {
        let model = try ManagedObjectModel {
            Entity("Event") {
                Attribute("rank", .integer32, optional: true)
                Attribute("age", .string, optional: true, transient: true)
            }
        }
        let stack = try Stack(.onDisk, model)
        let context = stack.newContext()
        try context.insert(entityNamed: "Event").setValue(1, forKey: "rank")
        try context.save()
        let request = FetchRequest<ManagedObject>(entityName: "Event").sorted(by: "rank")
        for (path, count) in [("age", 0), ("rank", 1)] {
            let list = try FetchedResultsController(request, in: stack.newContext(), sectionedBy: path, cacheName: "events")
            try list.performFetch()
            #expect(list.sections.map(\.count) == [1] && files(stack).count == count)
        }
    }

    @Test("FRC-6: a damaged cache has no effect", arguments: [("\"count\":5", "\"count\":4"), ("\"name\":\"1\"", "\"name\":\"2\""), ("{", "")])
    func damagedCachesAreReplaced(old: String, new: String) throws {
        let stack = try stack()
        _ = try fetch(stack.container)
        let file = try #require(files(stack).first)
        let written = try Data(contentsOf: file)
        try replace(file, old, new)
        #expect(try Data(contentsOf: file) != written)
        #expect(try fetch(stack.container).map(\.name) == ["0", "1"])
        #expect(try fetch(stack.container).map(\.count) == [5, 5])
    }

    @Test("FRC-6: caches are deleted by name, or all at once; a name may have any characters") func cachesAreDeleted() throws {
        let stack = try stack()
        for name in ["a", "b/../c", String(repeating: "long", count: 100)] { _ = try fetch(stack.container, cacheName: name) }
        #expect(files(stack).count == 3)
        let coordinator = stack.container.persistentStoreCoordinator
        try coordinator.deleteCache(withName: "b/../c")
        try coordinator.deleteCache(withName: "unknown")
        #expect(files(stack).count == 2)
        try coordinator.deleteCache()
        #expect(files(stack).isEmpty)
        #expect(try fetch(stack.container).map(\.count) == [5, 5])
    }

    @Test("FRC-6: results in memory and in child contexts have no cache") func someContextsHaveNoCache() throws {
        let memory = try Company.stack(.inMemory)
        memory.newContext().employee("e")
        #expect(try fetch(memory.container).isEmpty)
        try memory.container.persistentStoreCoordinator.deleteCache()
        let stack = try stack()
        let child = stack.newContext().newChildContext()
        let list = try FetchedResultsController(request(), in: child, sectionedBy: "salary", cacheName: "staff")
        try list.performFetch()
        #expect(list.sections.map(\.count) == [5, 5] && files(stack).isEmpty)
    }

    @Test("FRC-6: the folder of caches does not disturb check, backup and destruction of its store") func cachesAreNoPartOfTheStore() throws {
        let stack = try stack()
        _ = try fetch(stack.container)
        let reopened = try stack.reopened()
        #expect(try fetch(reopened).map(\.count) == [5, 5])
        try reopened.close()
        try reopened.persistentStoreCoordinator.destroyPersistentStore(stack.description)
        #expect(!FileManager.default.fileExists(atPath: stack.url.path))
    }
}
