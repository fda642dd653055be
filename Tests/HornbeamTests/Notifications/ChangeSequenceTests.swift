import Foundation
import Hornbeam
import Testing
@testable import Hornbeam

@Suite("Sequences of changes") struct ChangeSequenceTests {
    @Test("NOT-4: changes while the reader is busy are one element, with each object once", arguments: StoreKind.withOtherProcess)
    func changesAreCoalesced(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let (a, gone) = try stack.container.performAndWait { context in
            let objects = (PEntity(context: context), PEntity(context: context))
            try context.save()
            return (objects.0.objectID, objects.1.objectID)
        }
        var changes = stack.container.changes().makeAsyncIterator()
        let context = stack.newOtherContext()
        context.transactionAuthor = "me"
        let object = try context.existingObject(PEntity.self, with: a)
        object.name = "x"
        try context.save()
        object.counter = 1
        let (new, brief) = (PEntity(context: context), PEntity(context: context))
        try context.save()
        context.delete(brief)
        new.name = "later"
        context.delete(try context.existingObject(PEntity.self, with: gone))
        try context.save()
        let inserted = new.objectID
        let first = try #require(await changes.next())
        #expect(first.inserted == [inserted])
        #expect(first.updated == [a] && first.changedKeys == [a: ["name", "counter"]])
        #expect(first.deleted == [gone])
        #expect(first.author == "me")
        try stack.container.close()
        #expect(await changes.next() == nil)
    }

    @Test("NOT-4: a reader that is too slow receives one element that invalidates all objects")
    func overflowSaysSo() async {
        let subscriber = ChangeSubscriber(limit: 3)
        let ids = (0..<4).map { number in
            ManagedObjectID(origin: .init(entityName: "E", storeIdentifier: UUID(), entityNumber: 1), reference: UInt64(number + 1))
        }
        subscriber.receive(1, count: 2) { ObjectChanges(inserted: [ids[0], ids[1]], transaction: 1) }
        subscriber.receive(2, count: 2) { ObjectChanges(inserted: [ids[2], ids[3]], transaction: 2) }
        subscriber.receive(3, count: 1) { ObjectChanges(updated: [ids[0]], transaction: 3) }
        var changes = ChangeSequence(subscriber).makeAsyncIterator()
        #expect(await changes.next() == ObjectChanges(invalidatedAll: true, transaction: 3))
        subscriber.receive(4, count: 1) { ObjectChanges(updated: [ids[0]], transaction: 4) }
        #expect(await changes.next() == ObjectChanges(updated: [ids[0]], transaction: 4))
        subscriber.finish()
        #expect(await changes.next() == nil)
    }

    @Test("NOT-1: a context's sequence has unsaved changes and their keys", arguments: Setting.contexts)
    func contextTellsOfMemory(setting: Setting) async throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        try context.save()
        var changes = context.changes().makeAsyncIterator()
        object.name = "a"
        object.counter = 3
        context.processPendingChanges()
        let first = try #require(await changes.next())
        #expect(first.updated == [object.objectID] && first.transaction == 0)
        #expect(first.changedKeys == [object.objectID: ["name", "counter"]])
        context.reset()
        #expect(await changes.next() == ObjectChanges(invalidatedAll: true))
    }

    @Test("NOT-4: a sequence ends with its task, and is released")
    func sequencesEndWithTheirTask() async throws {
        let stack = try Parity.stack(.inMemory)
        let container = stack.container
        let reader = Task {
            for await _ in container.changes() {}
            return true
        }
        reader.cancel()
        #expect(await reader.value)
        try container.performAndWait { context in
            _ = PEntity(context: context)
            try context.save()
        }
    }

    @Test("NOT-1, NOT-3, NOT-5: Foundation's typed messages carry the IDs", arguments: Setting.contexts)
    func typedMessagesCarryIDs(setting: Setting) async throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let (reported, reporter) = AsyncStream.makeStream(of: ObjectChanges.self)
        let tokens = [
            NotificationCenter.default.addObserver(of: context, for: ManagedObjectContext.ObjectsDidChange.self) { reporter.yield($0.changes) },
            NotificationCenter.default.addObserver(of: context, for: ManagedObjectContext.DidSave.self) { reporter.yield($0.changes) },
        ]
        let object = PEntity(context: context)
        context.processPendingChanges()
        let temporary = object.objectID
        var iterator = reported.makeAsyncIterator()
        #expect(await iterator.next()?.inserted == [temporary])
        try context.save()
        #expect(await iterator.next()?.inserted == [object.objectID])
        for token in tokens { NotificationCenter.default.removeObserver(token) }
    }

    @Test("NOT-1: observers of the view context on the main actor are given the objects", arguments: StoreKind.allCases)
    @MainActor func viewContextGivesObjects(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let view = stack.container.viewContext
        var messages: [ManagedObjectContext.ViewObjectsDidChange] = []
        let token = NotificationCenter.default.addObserver(of: view, for: ManagedObjectContext.ViewObjectsDidChange.self) {
            messages.append($0)
        }
        defer { NotificationCenter.default.removeObserver(token) }
        let object = PEntity(context: view)
        view.processPendingChanges()
        object.name = "changed"
        try view.save()
        view.delete(object)
        view.processPendingChanges()
        #expect(messages.map(\.inserted).first == [object])
        #expect(messages.contains { $0.deleted == [object] })
    }
}
