import Foundation
import Hornbeam
import Testing

/// The history of several stores of one coordinator.
@Suite("History of several stores") struct SeveralHistoriesTests {
    /// Two stores; the second can be without history.
    private func container(_ kinds: (StoreKind, StoreKind), secondKeepsHistory: Bool = true) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Notes", model: Notebook.model(), classes: [HNote.self, HFolder.self])
        var descriptions = try [Stack.freshDescription(kinds.0), Stack.freshDescription(kinds.1)]
        if !secondKeepsHistory { descriptions[1].history = nil }
        container.persistentStoreDescriptions = descriptions
        try container.loadPersistentStores()
        return container
    }

    /// Saves a note into each of the named stores, in one save.
    @discardableResult
    private func save(_ uid: String, in container: PersistentContainer, _ places: [Int]) throws -> [ManagedObjectID] {
        try container.performAndWait { context in
            let stores = container.persistentStoreCoordinator.persistentStores
            let notes = try places.map { place in
                let note = HNote(context: context)
                note.uid = uid
                try context.assign(note, to: stores[place])
                return note
            }
            try context.save()
            return notes.map(\.objectID)
        }
    }

    @Test("HIS-4, HIS-5: the histories of several stores are one, in the order of time, in portions too", arguments: SeveralStoresTests.kinds)
    func historiesAreOne(kinds: (StoreKind, StoreKind)) throws {
        let container = try container(kinds)
        let history = container.history
        let start = try history.currentToken()
        #expect(start.storeIdentifiers == Set(container.persistentStoreCoordinator.persistentStores.map(\.identifier)))
        let places = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1]
        let ids = try places.enumerated().map { try save("n\($0)", in: container, [$1])[0] }
        func objects(_ transactions: [HistoryTransaction]) -> [ManagedObjectID] { transactions.flatMap { $0.changes.map(\.objectID) } }
        #expect(try objects(history.fetch(after: start).get()) == ids)
        #expect(try objects(history.fetch(after: nil).get()) == ids)
        for size in 1...11 {
            for begin in [start, nil] {
                var (token, found) = (begin, [ManagedObjectID]())
                while true {
                    let answer = try history.fetch(after: token, limit: size)
                    let portion = try answer.get()
                    #expect(portion.count <= size)
                    if portion.isEmpty { break }
                    found += objects(portion)
                    token = answer.token
                }
                #expect(found == ids, "in portions of \(size)")
            }
        }
        let all = try history.fetch(after: nil).get()
        for (place, transaction) in all.enumerated() {
            #expect(try objects(history.fetch(after: transaction).get()) == Array(ids[(place + 1)...]))
            #expect(try history.fetch(since: transaction.timestamp).map(\.id) == all[place...].map(\.id))
        }
        #expect(try history.fetch(since: .distantPast, limit: 3).map(\.id) == all[..<3].map(\.id))
    }

    @Test("HIS-2, SAV-11: a save over two stores is a transaction in the history of each, by one author", arguments: SeveralStoresTests.kinds)
    func jointSavesAreInBoth(kinds: (StoreKind, StoreKind)) throws {
        let container = try container(kinds)
        let ids = try container.performAndWait { context in
            context.transactionAuthor = "both"
            let notes = try container.persistentStoreCoordinator.persistentStores.map { store in
                let note = HNote(context: context)
                note.uid = "n"
                try context.assign(note, to: store)
                return note
            }
            try context.save()
            return notes.map(\.objectID)
        }
        let transactions = try container.history.fetch(after: nil).get()
        #expect(transactions.count == 2 && transactions.allSatisfy { $0.author == "both" })
        #expect(Set(transactions.flatMap { $0.changes.map(\.objectID) }) == Set(ids))
    }

    @Test("PSC-19: a token of some stores, and the history after it", arguments: SeveralStoresTests.kinds)
    func tokenOfSomeStores(kinds: (StoreKind, StoreKind)) throws {
        let container = try container(kinds)
        let stores = container.persistentStoreCoordinator.persistentStores
        let second = container.history.of(stores[1])
        let token = try second.currentToken()
        #expect(token.storeIdentifiers == [stores[1].identifier])
        #expect(try container.history.of(stores[0], stores[1]).currentToken() == container.history.currentToken())
        try save("a", in: container, [0])
        let id = try save("b", in: container, [1])
        #expect(try second.fetch(after: token).get().flatMap { $0.changes.map(\.objectID) } == id)
        guard case .resync(.unknownStore, let next) = try container.history.fetch(after: token) else {
            return #expect(Bool(false), "what the token does not know of must not be passed over")
        }
        #expect(try container.history.fetch(after: next).get().isEmpty)
        try second.purge(before: .distantFuture)
        #expect(try container.history.fetch(after: nil).get().count == 1)
        try container.persistentStoreCoordinator.remove(stores[1])
        #expect(hornbeamError { _ = try second.currentToken() }?.code == .closed)
    }

    @Test("HIS-1: a store without history is skipped beside one with history", arguments: SeveralStoresTests.kinds)
    func storesWithoutHistoryArePassedOver(kinds: (StoreKind, StoreKind)) throws {
        let container = try container(kinds, secondKeepsHistory: false)
        let stores = container.persistentStoreCoordinator.persistentStores
        let token = try container.history.currentToken()
        #expect(token.storeIdentifiers == [stores[0].identifier])
        try save("untold", in: container, [1])
        let ids = try save("told", in: container, [0, 1])
        #expect(try container.history.fetch(after: token).get().flatMap { $0.changes.map(\.objectID) } == [ids[0]])
        try container.history.register("reader")
        #expect(try container.history.consumers().map(\.name) == ["reader"])
        try container.history.purge(before: .distantFuture)
        #expect(try container.history.fetch(after: nil).get().isEmpty)
        #expect(hornbeamError { _ = try container.history.of(stores[1]).currentToken() }?.code == .unsupportedRequest)
    }

    /// ```
    /// writer            reader                    mine (does not follow)
    /// save a, b
    ///                   token
    ///                                             reads a, b
    /// change a, delete b
    ///                   history after token  ->   mergeChanges
    /// ```
    @Test("NOT-8, HIS-2: contexts of other containers merge the history that one container reads, over several stores", arguments: SeveralStoresTests.kinds)
    func historyIsAnnouncedElsewhere(kinds: (StoreKind, StoreKind)) throws {
        let writer = try container(kinds)
        let ids = try (0..<2).map { try save("n\($0)", in: writer, [0, 1]) }
        let reader = try PersistentContainer(name: "Reader", model: writer.managedObjectModel, classes: [HNote.self, HFolder.self])
        // In the reverse order, so that slots differ and only identities are equal.
        reader.persistentStoreDescriptions = writer.persistentStoreDescriptions.reversed()
        try reader.loadPersistentStores()
        let token = try reader.history.currentToken()
        let contexts = (0..<2).map { _ in reader.newContext() }
        for context in contexts { context.automaticallyMergesChangesFromParent = false }
        let notes = try contexts.map { context in try ids.flatMap(\.self).map { try context.existingObject(HNote.self, with: $0) } }
        #expect(notes.flatMap(\.self).allSatisfy { $0.text == nil })
        notes[0][0].size = 7
        let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: contexts[0])
        let new = try writer.performAndWait { context in
            for id in ids[0] { try context.existingObject(HNote.self, with: id).text = "changed" }
            for id in ids[1] { context.delete(try context.existingObject(HNote.self, with: id)) }
            let note = HNote(context: context)
            note.uid = "new"
            try context.save()
            return note.objectID
        }
        let data = try JSONEncoder().encode(token)
        let transactions = try reader.history.fetch(after: JSONDecoder().decode(HistoryToken.self, from: data)).get()
        for transaction in transactions { try ManagedObjectContext.mergeChanges(from: transaction.objectChanges, into: contexts) }
        for side in notes {
            #expect(side[..<2].map(\.text) == ["changed", "changed"])
            #expect(side[2...].allSatisfy { $0.isDeleted || $0.managedObjectContext == nil })
        }
        #expect(notes[0][0].size == 7 && notes[0][0].hasChanges)
        #expect(Set(heard.changes.flatMap(\.refreshed)) == Set(ids[0]))
        #expect(Set(heard.changes.flatMap(\.deleted)) == Set(ids[1]))
        #expect(Set(heard.changes.flatMap(\.inserted)) == [new])
        try contexts[0].save()
        #expect(try writer.newContext().existingObject(HNote.self, with: ids[0][0]).size == 7)
        try reader.close()
    }
}
