import Foundation
import Hornbeam
import HornbeamConformance
import Testing

/// Custom stores behind a coordinator, and the conformance suite that all stores pass.
@Suite struct CustomStoreTests {
    @Test("CST-1 … CST-3: the built-in stores pass the conformance suite", arguments: StoreKind.allCases)
    func builtInStoresConform(kind: StoreKind) throws {
        let conformance = StoreConformance(reopening: kind == .onDisk ? { $0 } : nil) { try Stack.freshDescription(kind) }
        #expect(conformance.checks.count == 18)
        for failure in conformance.run() { Issue.record("\(failure)") }
    }

    @Test("CST-2: an atomic store passes the conformance suite")
    func atomicStoreConforms() throws {
        let conformance = StoreConformance(reopening: { .custom(FileStore(at: $0.url)) }) {
            let url = try Stack.freshDescription(.onDisk).url
            return .custom(FileStore(at: url), at: url)
        }
        for failure in conformance.run() { Issue.record("\(failure)") }
    }

    @Test("CST-3: an incremental store passes the conformance suite")
    func incrementalStoreConforms() throws {
        let conformance = StoreConformance(reopening: { .custom(ServerStore(copying: try #require($0.customStore as? ServerStore))) }) {
            .custom(ServerStore())
        }
        for failure in conformance.run() { Issue.record("\(failure)") }
    }

    @Test("CST-3: the conformance suite finds the mistakes of a wrong store")
    func suiteFindsFaults() throws {
        let conformance = StoreConformance(reopening: { .custom(ServerStore(copying: try #require($0.customStore as? ServerStore))) }) {
            .custom(ServerStore(fault: .forgetsMembers))
        }
        let failures = conformance.run().map(\.check)
        // A lost order can still be correct by chance.
        #expect(failures.first == "members of many-to-many relationships are found from both ends")
        #expect(failures.dropFirst().allSatisfy { $0 == "ordered relationships keep their order" })
    }

    private func container(_ store: ServerStore, _ others: [PersistentStoreDescription] = []) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: StoreConformance.model())
        container.persistentStoreDescriptions = [.custom(store)] + others
        try container.loadPersistentStores()
        return container
    }

    @Test("CST-3: rows are loaded when they are needed, and external changes are visible at the next fetch")
    func rowsComeAsNeeded() throws {
        let server = ServerStore()
        server.change { rows in
            rows[1] = CustomStoreRow(CustomStoreKey("Author", 1), values: ["name": "ada", "born": 1815])
            rows[2] = CustomStoreRow(
                CustomStoreKey("Book", 2), values: ["title": "notes"], destinations: ["author": CustomStoreKey("Author", 1)])
        }
        let container = try container(server)
        let context = container.newContext()
        #expect(server.asked.isEmpty)
        let coordinator = container.persistentStoreCoordinator
        let uri = try #require(URL(string: "x-hornbeam://\(server.identifier.uuidString)/Book/p2"))
        let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
        let book = try context.existingObject(with: id)
        #expect(try book.value(forKey: "title") == "notes")
        #expect(server.asked == ["objects Book 2"])
        let author = try #require(try book.object(forKey: "author"))
        #expect(try author.value(forKey: "name") == "ada")
        #expect(server.asked == ["objects Book 2", "objects Author 1"])
        #expect(try author.objectIDs(forRelationshipNamed: "works") == [id])
        #expect(server.asked.last == "members works of Author 1")
        server.change { $0[1]?.values["born"] = 1816 }
        #expect(try author.value(forKey: "born") == 1815)
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Author")) == 1)
        #expect(try author.value(forKey: "born") == 1816)
        server.change { $0[2] = nil }
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Work")) == 0)
        #expect(book.isDeleted)
        let missing = ManagedObjectID(uriRepresentation: try #require(URL(string: uri.absoluteString + "00")))
        #expect(hornbeamError { _ = try context.existingObject(with: try #require(missing)) }?.code == .objectNotFound)
    }

    @Test("CST-3: a fetch or a save throws the error of the store, and a refused save changes nothing")
    func errorsComeOut() throws {
        let server = ServerStore()
        let container = try container(server)
        let context = container.newContext()
        let tag = try context.insert(entityNamed: "Tag")
        try tag.setValue("t", forKey: "label")
        server.failure = HornbeamError(.storeOperationFailed, "The server is away. Try again later.")
        #expect(hornbeamError { try context.save() }?.message == "The server is away. Try again later.")
        #expect(tag.isInserted && tag.objectID.isTemporaryID)
        #expect(hornbeamError { _ = try context.count(FetchRequest<ManagedObject>(entityName: "Tag")) }?.code == .storeOperationFailed)
        server.failure = nil
        try context.save()
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Tag")) == 1)
        let delete = BatchDeleteRequest(entityName: "Tag")
        #expect(hornbeamError { try context.execute(delete) }?.code == .unsupportedRequest)
    }

    @Test(
        "BAT-1, BAT-2, BAT-3: a custom store supports no batches, and a request over it and other stores does nothing", .refusedByServer(.severalStores),
        arguments: StoreKind.allCases)
    func customStoresTakeNoBatches(kind: StoreKind) throws {
        let container = try container(ServerStore(), [Stack.freshDescription(kind)])
        let context = container.newContext()
        let stores = container.persistentStoreCoordinator.persistentStores
        for store in stores {
            let tag = try context.insert(entityNamed: "Tag")
            try tag.setValue("t", forKey: "label")
            try context.assign(tag, to: store)
        }
        try context.save()
        var insert = BatchInsertRequest(entityName: "Tag", objects: [["label": "new"]])
        var update = BatchUpdateRequest(entityName: "Tag")
        update.set("label", to: "changed")
        var delete = BatchDeleteRequest(entityName: "Tag")
        let errors = [
            hornbeamError { try context.execute(insert) }, hornbeamError { try context.execute(update) },
            hornbeamError { try context.execute(delete) },
        ]
        for error in errors {
            #expect(error?.code == .unsupportedRequest)
            #expect(error?.message == """
                A custom store takes no batch requests. Fetch the objects, change them and save; or name other stores in affectedStores.
                """)
        }
        let all = FetchRequest<ManagedObject>(entityName: "Tag", sortedBy: [FetchSort("label")])
        #expect(try context.fetch(all).map { try $0.value(forKey: "label") } == ["t", "t"])
        let own = [stores[1].identifier]
        (insert.affectedStores, update.affectedStores, delete.fetch.affectedStores) = (own, own, own)
        try context.execute(update)
        let changed = try context.fetch(all).map { try $0.value(forKey: "label") }
        #expect(changed == ["changed", "t"])
        try context.execute(delete)
        try context.execute(insert)
        let labels = try context.fetch(all).map { try $0.value(forKey: "label") }
        #expect(labels == ["new", "t"])
    }

    @Test(
        "CST-3, PSC-2: a custom store works beside built-in ones, and either can refuse a save over both", .refusedByServer(.severalStores),
        arguments: StoreKind.allCases)
    func besideBuiltInStores(kind: StoreKind) throws {
        let server = ServerStore()
        let container = try container(server, [Stack.freshDescription(kind)])
        let stores = container.persistentStoreCoordinator.persistentStores
        let context = container.newContext()
        for (number, store) in stores.enumerated() {
            let tag = try context.insert(entityNamed: "Tag")
            try tag.setValue(.string("t\(number)"), forKey: "label")
            try context.assign(tag, to: store)
        }
        server.failure = HornbeamError(.storeOperationFailed, "The server is away.")
        #expect(hornbeamError { try context.save() }?.code == (kind == .onServer ? .unsupportedRequest : .storeOperationFailed))
        server.failure = nil
        var request = FetchRequest<ManagedObject>(entityName: "Tag", sortedBy: [FetchSort("label")])
        #expect(try container.newContext().count(request) == 0)
        try context.save()
        #expect(try container.newContext().fetch(request).map { try $0.value(forKey: "label") } == ["t0", "t1"])
        request.affectedStores = [server.identifier]
        #expect(try container.newContext().count(request) == 1)
    }

    @Test("CST-3: of two custom stores the first keeps its part when the second refuses, and receives it again under new keys")
    func firstOfTwoKeepsItsPart() throws {
        let servers = [ServerStore(), ServerStore()].sorted { $0.identifier.uuidString < $1.identifier.uuidString }
        let container = try container(servers[0], [.custom(servers[1])])
        let context = container.newContext()
        for store in container.persistentStoreCoordinator.persistentStores {
            let tag = try context.insert(entityNamed: "Tag")
            try tag.setValue(.string("both"), forKey: "label")
            try context.assign(tag, to: store)
        }
        servers[1].failure = HornbeamError(.storeOperationFailed, "The server is away.")
        #expect(hornbeamError { try context.save() }?.code == .storeOperationFailed)
        #expect(servers.map(\.rowCount) == [1, 0])
        #expect(context.insertedObjects.count == 2)
        servers[1].failure = nil
        try context.save()
        #expect(servers.map(\.rowCount) == [2, 1])
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Tag")) == 3)
    }
}
