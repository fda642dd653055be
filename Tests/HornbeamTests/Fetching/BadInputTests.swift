import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Faults of the environment are errors with a sentence; the container and its contexts stay usable.
@Suite struct BadInputTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-bad-\(UUID().uuidString)")

    private func withFolder(_ body: () throws -> Void) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body()
    }

    private func open(_ name: String, _ model: ManagedObjectModel? = nil) throws -> PersistentContainer {
        try PersistentContainer.open(
            at: folder.appending(path: name), model: try model ?? Parity.model(), classes: model == nil ? Parity.classes : [])
    }

    @Test("CON-3: a container whose store was not loaded throws an error that names the reason")
    func nothingLoaded() throws {
        let container = try PersistentContainer(name: "x", model: Parity.model(), classes: Parity.classes)
        let error = hornbeamError { _ = try container.newContext().fetch(FetchRequest<PEntity>()) }
        #expect(error?.description == """
            Error 9110 (closed): No store is open. Call loadPersistentStores() first, and use no context after close().
            """)
    }

    @Test("a closed container throws `closed`, and can be loaded again")
    func closedAndLoadedAgain() throws {
        try withFolder {
            let container = try open("A.hornbeam")
            let context = container.newContext()
            PEntity(context: context).name = "a"
            try context.save()
            try container.close()
            #expect(hornbeamError { _ = try container.newContext().fetch(FetchRequest<PEntity>()) }?.code == .closed)
            try container.loadPersistentStores()
            #expect(try container.newContext().count(FetchRequest<PEntity>()) == 1)
            try container.close()
        }
    }

    @Test("PSC-9: a copy of a store has its identity, and is refused beside it")
    func copyBesideTheOriginalIsRefused() throws {
        try withFolder {
            try open("A.hornbeam").close()
            let copy = folder.appending(path: "B.hornbeam")
            try FileManager.default.copyItem(at: folder.appending(path: "A.hornbeam"), to: copy)
            let container = try open("A.hornbeam")
            let coordinator = container.persistentStoreCoordinator
            let error = hornbeamError { try coordinator.addPersistentStore(PersistentStoreDescription(url: copy)) }
            #expect(error?.description == """
                Error 134091 (unsupportedRequest): The coordinator already has a store with the identifier of B.hornbeam: the same store, or \
                a copy. Use a separate container for a copy.
                """)
            #expect(coordinator.persistentStores.count == 1)
            try container.close()
        }
    }

    @Test("a path that is no store, and a store that is in use, are errors that name the path")
    func notAStoreAndInUse() throws {
        try withFolder {
            let file = folder.appending(path: "text.hornbeam")
            try "not a store".write(to: file, atomically: true, encoding: .utf8)
            let none = hornbeamError { _ = try open("text.hornbeam") }
            #expect(none?.code == .notAStore && none?.message.contains("text.hornbeam") == true)
            // Opens the store like another process, without sharing it with the containers of this one.
            let other = try Store.open(.directory(folder.appending(path: "A.hornbeam").path), model: Parity.model())
            let used = hornbeamError { _ = try open("A.hornbeam") }
            #expect(used?.code == .storeInUse && used?.message.contains("A.hornbeam") == true)
            try other.close()
            let container = try open("A.hornbeam")
            #expect(try container.newContext().count(FetchRequest<PEntity>()) == 0)
            try container.close()
        }
    }

    @Test("store.011: a model that does not match the store is error 134100, which names the differences")
    func otherModel() throws {
        try withFolder {
            let container = try open("A.hornbeam", try ManagedObjectModel { Entity("Thing") { Attribute<Int>("size") } })
            try container.close()
            let other = try ManagedObjectModel { Entity("Thing") { Attribute<String>("size") } }
            var description = PersistentStoreDescription(url: folder.appending(path: "A.hornbeam"))
            description.shouldMigrateStoreAutomatically = false
            let coordinator = try PersistentStoreCoordinator(managedObjectModel: other)
            let error = hornbeamError { try coordinator.addPersistentStore(description) }
            #expect(error?.code.rawValue == 134_100)
            #expect(error?.description.contains("size") == true)
            // MIG-3: a store that cannot be migrated is error 134190.
            let refused = hornbeamError { _ = try open("A.hornbeam", other) }
            #expect(refused?.code.rawValue == 134_190)
            #expect(refused?.description.contains("size") == true)
        }
    }

    @Test("a store that is opened for reading can be read, and refuses the save")
    func readOnlyStore() throws {
        try withFolder {
            let container = try open("A.hornbeam")
            try container.performAndWait { context in
                PEntity(context: context).name = "a"
                try context.save()
            }
            try container.close()
            var description = PersistentStoreDescription(url: folder.appending(path: "A.hornbeam"))
            description.isReadOnly = true
            container.persistentStoreDescriptions = [description]
            try container.loadPersistentStores()
            let context = container.newContext()
            let object = try #require(try context.fetch(FetchRequest<PEntity>()).first)
            #expect(object.name == "a")
            object.name = "b"
            let error = hornbeamError { try context.save() }
            #expect(error?.code == .readOnly)
            context.rollback()
            #expect(object.name == "a")
            try container.close()
        }
    }

    @Test("a value of the wrong type is error 9008 at the save, with entity and key", arguments: StoreKind.allCases)
    func wrongType(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Thing") { Attribute<Int16>("size", default: 1) } }
        let context = try Stack(kind, model).newContext()
        let thing = try context.insert(entityNamed: "Thing")
        thing[Attribute<String>("size")] = "large"
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .typeMismatch && error?.entity == "Thing" && error?.key == "size")
        thing[Attribute<Int>("size")] = 70_000
        #expect(hornbeamError { try context.save() }?.code == .numberTooLarge)
        thing[Attribute<Int>("size")] = 7
        try context.save()
        #expect(thing[Attribute<Int>("size")] == 7)
    }

    @Test("an object that points at one that is not saved is an error, not a dangling reference", arguments: StoreKind.allCases)
    func pointingAtNothing(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("A") { ToOne("b", to: "B") }
            Entity("B") { Attribute<Int?>("x") }
        }
        let context = try Stack(kind, model).newContext()
        let (a, b) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "B"))
        try a.setValue(b, forKey: "b")
        context.delete(b)
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .objectNotFound && error?.key == "b")
        try a.setValue(nil as ManagedObject?, forKey: "b")
        try context.save()
    }
}

@Suite struct UpkeepTests {
    @Test("ATT-11: derived attributes are computed by each save", arguments: StoreKind.allCases)
    func derivedAttributes(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                Attribute<String?>("folded", derivation: "canonical:(title)")
                ToMany("pages", to: "Page", inverse: "book")
                Attribute<Int?>("count", derivation: "pages.@count")
            }
            Entity("Page") { ToOne("book", to: "Book", inverse: "pages") }
        }
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        let book = try context.insert(entityNamed: "Book")
        book["title"] = "Über Éclairs"
        for _ in 0..<3 { try context.insert(entityNamed: "Page").setValue(book, forKey: "book") }
        try context.save()
        #expect(book["folded"] == "uber eclairs" && book["count"] == 3)
        let same = try stack.newContext().existingObject(with: book.objectID)
        #expect(same["folded"] == "uber eclairs" && same["count"] == 3)
    }

    @Test("iterating over a relationship returns all members in batches, in order", arguments: StoreKind.allCases)
    func walkingInBatches(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let department = context.department("d")
        for number in 0..<200 { context.employee("\(number + 1000)").department = department }
        try context.save()
        let other = stack.newContext()
        let same = try other.existingObject(Department.self, with: department.objectID)
        let held = Array(same.employees.prefix(3))
        #expect(same.employees.map(\.name) == (1000..<1200).map(String.init))
        #expect(Array(same.employees.prefix(3)) == held)
        same.employees.insert(other.employee("new"))
        #expect(same.employees.count == 201 && Array(same.employees).last?.name == "new")
    }

    @Test("a context that slept through very many commits compares its objects when it wakes", arguments: StoreKind.allCases)
    func sleepingThroughManyCommits(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let sleeper = stack.newContext()
        let (a, b) = (PEntity(context: sleeper), PEntity(context: sleeper))
        a.name = "a"
        b.name = "b"
        try sleeper.save()
        _ = (a.name, b.name)
        try stack.container.performAndWait { context in
            try context.existingObject(PEntity.self, with: a.objectID).name = "changed"
            context.delete(try context.existingObject(with: b.objectID))
            try context.save()
            for _ in 0..<70_000 { _ = PEntity(context: context) }
            try context.save()
        }
        try sleeper.mergeChanges()
        #expect(a.name == "changed" && b.isDeleted && b.name == "b")
    }

    @Test("PSC-8: the store's notes survive closing", arguments: StoreKind.allCases)
    func metadataSurvives(kind: StoreKind) throws {
        let coordinator = try Parity.stack(kind).container.persistentStoreCoordinator
        let store = coordinator.persistentStores[0]
        try coordinator.setMetadata(["version": 3], for: store)
        let metadata = try coordinator.metadata(for: store)
        #expect(metadata["version"] == 3)
        guard case .uuid = metadata["HornbeamStoreUUID"] else {
            Issue.record("the store's UUID is missing")
            return
        }
    }

    @Test("PSC-16: destroying a store removes all its files; an open store is refused")
    func destroyingAStore() throws {
        let stack = try Parity.stack(.onDisk)
        let coordinator = stack.container.persistentStoreCoordinator
        #expect(hornbeamError { try coordinator.destroyPersistentStore(stack.description) }?.code == .storeInUse)
        try stack.container.close()
        try coordinator.destroyPersistentStore(stack.description)
        #expect(!FileManager.default.fileExists(atPath: stack.description.url.path))
        try coordinator.destroyPersistentStore(stack.description)
    }

    @Test("object.026: saved objects are present after closing and opening")
    func savedIsThereAfterReopening() throws {
        let stack = try Company.stack(.onDisk)
        let context = stack.newContext()
        let employee = context.employee("e", salary: .max)
        employee.department = context.department("d")
        employee.projects = [context.project("p"), context.project("q")]
        try context.save()
        let again = try stack.reopened()
        let read = try #require(try again.newContext().fetch(FetchRequest<Employee>()).first)
        #expect(read.objectID == employee.objectID)
        #expect(read.salary == .max && read.department?.name == "d" && Set(read.projects.map(\.name)) == ["p", "q"])
        try again.close()
    }
}
