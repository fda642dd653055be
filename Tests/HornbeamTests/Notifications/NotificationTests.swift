import Foundation
import Hornbeam
import Testing

@Suite struct NotificationTests {
    private let didChange = ManagedObjectContext.didChangeObjectsNotification
    private let willSave = ManagedObjectContext.willSaveObjectsNotification
    private let didSave = ManagedObjectContext.didSaveObjectIDsNotification

    @Test("NOT-1: changes are notified at processPendingChanges, a reset invalidates all (notify.001)", arguments: Setting.contexts)
    func changesArePosted(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let posts = Posts(context, [didChange])
        let object = PEntity(context: context)
        context.processPendingChanges()
        context.processPendingChanges()
        context.reset()
        #expect(posts.changes == [
            ObjectChanges(inserted: [object.objectID]), ObjectChanges(invalidatedAll: true),
        ])
    }

    @Test("NOT-1: refreshing notifies of refreshed objects (notify.004)", arguments: Setting.contexts)
    func refreshingTells(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let objects = [PEntity(context: context), PEntity(context: context)]
        try context.save()
        let posts = Posts(context, [didChange])
        try context.refreshAllObjects()
        #expect(posts.changes == [ObjectChanges(refreshed: Set(objects.map(\.objectID)))])
    }

    @Test("NOT-2, NOT-3, NOT-4: will-save, then did-save with the IDs (notify.008, 011)", arguments: StoreKind.allCases)
    func savesArePosted(kind: StoreKind) throws {
        let context = try Parity.stack(kind).newContext()
        let (a, b) = (PEntity(context: context), PEntity(context: context))
        try context.save()
        let posts = Posts(context, [willSave, didSave])
        let (c, d) = (PEntity(context: context), PEntity(context: context))
        a.name = "changed"
        context.delete(b)
        context.transactionAuthor = "me"
        try context.save()
        #expect(posts.names == [willSave, didSave])
        let changes = try #require(posts.changes[1])
        #expect(changes.inserted == [c.objectID, d.objectID])
        #expect(changes.updated == [a.objectID] && changes.deleted == [b.objectID])
        #expect(changes.author == "me" && changes.transaction > 0)
        #expect(changes.inserted.allSatisfy { !$0.isTemporaryID })
    }

    @Test("NOT-4: the container's sequence has every commit", arguments: StoreKind.withOtherProcess)
    func streamTellsOfCommits(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        var stream = stack.container.changes().makeAsyncIterator()
        let context = stack.newOtherContext()
        context.name = "importer"
        let object = PEntity(context: context)
        try context.save()
        let id = object.objectID
        let changes = try #require(await stream.next())
        #expect(changes.inserted == [id] && changes.contextName == "importer")
        try stack.container.close()
        #expect(await stream.next() == nil)
    }

    @Test("NOT-9: the view context merges saves automatically and notifies of them", arguments: StoreKind.withOtherProcess)
    @MainActor func viewContextFollows(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let view = stack.container.viewContext
        let object = PEntity(context: view)
        try view.save()
        _ = object.name
        let (reported, reporter) = AsyncStream.makeStream(of: ObjectChanges?.self)
        let token = NotificationCenter.default.addObserver(
            forName: ManagedObjectContext.didMergeChangesObjectIDsNotification, object: view, queue: nil
        ) { reporter.yield($0.objectChanges) }
        defer { NotificationCenter.default.removeObserver(token) }
        let id = object.objectID
        let other = stack.newOtherContext()
        try other.existingObject(PEntity.self, with: id).name = "from outside"
        try other.save()
        var iterator = reported.makeAsyncIterator()
        let changes = try #require(await iterator.next() ?? nil)
        #expect(changes.refreshed == [id])
        #expect(object.name == "from outside")
    }
}

@Suite struct AskedNameTests {
    #if os(Linux) || os(macOS)
    // In a process of its own, because a requested name stays requested.
    @Test("NOT-1 … NOT-4: a notification is posted only after its name was requested")
    func unrequestedNamesAreNotPosted() async {
        await #expect(processExitsWith: .success) {
            let context = try Parity.stack(.inMemory).newContext()
            let posts = Posts(context)
            _ = PEntity(context: context)
            try context.save()
            #expect(posts.names.isEmpty)
            let didSave = ManagedObjectContext.didSaveObjectIDsNotification
            let object = PEntity(context: context)
            try context.save()
            #expect(posts.names == [didSave])
            #expect(posts.changes.map { $0?.inserted } == [[object.objectID]])
            let didChange = ManagedObjectContext.didChangeObjectsNotification
            context.delete(object)
            try context.save()
            #expect(posts.names == [didSave, didChange, didSave])
        }
    }
    #endif
}
