import Foundation
import Hornbeam
import Testing

final class HNote: ManagedObject {
    static let uid = Attribute<String>("uid", unique: true, preserved: true)
    static let text = Attribute<String?>("text")
    static let size = Attribute<Int?>("size", preserved: true)
    static let folder = ToOne<HFolder>("folder", inverse: "notes")

    var uid: String { get { self[Self.uid] } set { self[Self.uid] = newValue } }
    var text: String? { get { self[Self.text] } set { self[Self.text] = newValue } }
    var size: Int? { get { self[Self.size] } set { self[Self.size] = newValue } }
    var folder: HFolder? { get { self[Self.folder] } set { self[Self.folder] = newValue } }
}

final class HFolder: ManagedObject {
    static let title = Attribute<String?>("title")
    static let notes = ToMany<HNote>("notes", inverse: "folder", deleteRule: .cascade)

    var title: String? { get { self[Self.title] } set { self[Self.title] = newValue } }
}

/// A notebook with history. Another process saves in it, if its kind has one.
struct Notebook {
    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("HNote") {
                HNote.uid
                HNote.text
                HNote.size
                HNote.folder
            }
            Entity("HFolder") {
                HFolder.title
                HFolder.notes
            }
        }
    }

    let stack: Stack
    var container: PersistentContainer { stack.container }
    var history: PersistentHistory { container.history }

    init(_ kind: StoreKind, _ history: HistoryTracking? = HistoryTracking()) throws {
        stack = try Stack(kind, Self.model(), [HNote.self, HFolder.self]) { $0.history = history }
    }

    /// Runs a body with a context of the other process.
    func write<R>(_ body: (ManagedObjectContext) throws -> R) throws -> R {
        let result = try body(stack.newOtherContext())
        _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
        return result
    }

    /// Saves one note.
    @discardableResult
    func save(_ uid: String, by author: String? = nil) throws -> ManagedObjectID {
        try write { context in
            context.transactionAuthor = author
            let note = HNote(context: context)
            note.uid = uid
            try context.save()
            return note.objectID
        }
    }

    func change(_ id: ManagedObjectID, _ body: (HNote, ManagedObjectContext) -> Void) throws {
        try write { context in
            body(try context.existingObject(HNote.self, with: id), context)
            try context.save()
        }
    }

    func transactions(after token: HistoryToken? = nil) throws -> [HistoryTransaction] {
        try history.fetch(after: token).get()
    }
}

@Suite("History") struct HistoryTests {
    @Test("HIS-1: without tracking there is no history, and reading it throws an error", arguments: StoreKind.allCases)
    func historyCanBeOff(kind: StoreKind) throws {
        let notebook = try Notebook(kind, nil)
        try notebook.save("a")
        let error = hornbeamError { _ = try notebook.history.fetch(after: nil) }
        #expect(error?.code == .unsupportedRequest)
    }

    @Test("HIS-1: turning history off and on again leaves no gap unnoticed")
    func gapIsNoticed() throws {
        var description = try Stack.freshDescription(.onDisk)
        func open(_ history: HistoryTracking?) throws -> PersistentContainer {
            description.history = history
            let container = try PersistentContainer(name: "N", model: Notebook.model())
            container.persistentStoreDescriptions = [description]
            try container.loadPersistentStores()
            return container
        }
        var container = try open(HistoryTracking())
        let token = try container.history.currentToken()
        try container.close()
        container = try open(nil)
        try container.performAndWait { context in
            try context.insert(entityNamed: "HFolder").setValue("unseen", forKey: "title")
            try context.save()
        }
        try container.close()
        container = try open(HistoryTracking())
        guard case .resync(.expired, let next) = try container.history.fetch(after: token) else {
            return #expect(Bool(false), "the save without history must not be passed over")
        }
        #expect(try container.history.fetch(after: next).get().isEmpty)
        try container.close()
    }

    @Test("HIS-2: a transaction has its author, time, process and context name", arguments: StoreKind.withOtherProcess)
    func transactionSaysWho(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        let before = Date()
        let number = try notebook.write { context in
            context.transactionAuthor = "importer"
            context.name = "night shift"
            HNote(context: context).uid = "a"
            try context.save()
            return context.transactionAuthor
        }
        #expect(number == "importer")
        let transactions = try notebook.transactions()
        let transaction = try #require(transactions.first)
        #expect(transactions.count == 1)
        #expect(transaction.author == "importer" && transaction.contextName == "night shift")
        #expect(transaction.processIdentifier == ProcessInfo.processInfo.processIdentifier)
        #expect(transaction.processName == ProcessInfo.processInfo.processName)
        #expect(transaction.timestamp >= before && transaction.timestamp <= Date())
        #expect(transaction.kind == .save && transaction.changeCount == 1)
        #expect(transaction.token.transactionNumber(of: transaction.storeIdentifier) == transaction.number)
    }

    @Test("HIS-3, ATT-15: changes have objects, properties, and preserved values of deleted objects", arguments: StoreKind.withOtherProcess)
    func changesTell(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        let id = try notebook.save("a")
        let folder = try notebook.write { context in
            let folder = HFolder(context: context)
            let note = try context.existingObject(HNote.self, with: id)
            note.folder = folder
            note.size = 3
            try context.save()
            return folder.objectID
        }
        try notebook.change(id) { note, context in context.delete(note) }
        let changes = try notebook.transactions().map(\.changes)
        #expect(changes.map { $0.map(\.objectID) } == [[id], [folder, id], [folder, id]])
        #expect(changes[0].map(\.kind) == [.inserted])
        #expect(changes[1].map(\.kind) == [.inserted, .updated(["folder", "size"])])
        #expect(changes[2].map(\.kind) == [.updated(["notes"]), .deleted(["uid": "a", "size": 3])])
        #expect(changes[2][1].tombstone == ["uid": "a", "size": 3])
        #expect(changes[2].map(\.id.position) == [0, 1])
    }

    @Test("HIS-4: a token is a small value that survives being written as JSON", arguments: StoreKind.withOtherProcess)
    func tokensAreCodable(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        try notebook.save("a")
        let token = try notebook.history.currentToken()
        let id = try notebook.save("b")
        let text = try JSONEncoder().encode(token)
        let read = try JSONDecoder().decode(HistoryToken.self, from: text)
        #expect(read == token)
        #expect(text.count < 150)
        let transactions = try notebook.transactions(after: read)
        #expect(transactions.map { $0.changes.map(\.objectID) } == [[id]])
        #expect(try notebook.history.fetch(after: transactions[0]).get().isEmpty)
    }

    @Test("HIS-4: a token of another store returns resync", arguments: StoreKind.withOtherProcess)
    func foreignTokenResyncs(kind: StoreKind) throws {
        let (a, b) = (try Notebook(kind), try Notebook(kind))
        try a.save("a")
        let answer = try b.history.fetch(after: a.history.currentToken())
        guard case .resync(.unknownStore, let token) = answer else {
            return #expect(Bool(false), "\(answer)")
        }
        #expect(token == (try b.history.currentToken()))
        #expect(hornbeamError { _ = try answer.get() }?.code == .storeNotFoundInToken)
    }

    @Test("HIS-5: history is fetched by date, by predicate and in portions", arguments: StoreKind.withOtherProcess)
    func fetchesByDateAndPredicate(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        for number in 1...6 { try notebook.save("\(number)", by: number.isMultiple(of: 2) ? "even" : "odd") }
        let all = try notebook.transactions()
        #expect(all.map(\.author) == ["odd", "even", "odd", "even", "odd", "even"])
        let odd = try notebook.history.fetch(after: nil, where: FetchPredicate(format: "author == 'odd'")).get()
        #expect(odd.map(\.number) == [all[0].number, all[2].number, all[4].number])
        let notes = try FetchPredicate(format: "ANY changes.changedEntity == 'HFolder' OR transactionNumber > %@", Int(all[4].number))
        #expect(try notebook.history.fetch(after: nil, where: notes).get().map(\.number) == [all[5].number])
        let first = try notebook.history.fetch(after: nil, limit: 4)
        #expect(try first.get().map(\.number) == all[..<4].map(\.number))
        #expect(try notebook.history.fetch(after: first.token, limit: 4).get().map(\.number) == all[4...].map(\.number))
        #expect(try notebook.history.fetch(since: all[3].timestamp).last?.number == all[5].number)
        #expect(try notebook.history.fetch(since: .distantPast).count == 6)
        #expect(try notebook.history.fetch(since: .distantFuture).isEmpty)
        let error = hornbeamError { _ = try notebook.history.fetch(after: nil, where: FetchPredicate(format: "colour == 1")) }
        #expect(error?.code == .unknownKey)
    }

    @Test("HIS-7: after a purge older tokens return resync, and the new token continues", arguments: StoreKind.withOtherProcess)
    func purgeExpiresTokens(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        let start = try notebook.history.currentToken()
        try notebook.save("a")
        let middle = try notebook.history.currentToken()
        try notebook.save("b")
        try notebook.history.purge(before: middle)
        #expect(try notebook.transactions(after: middle).count == 1)
        let answer = try notebook.history.fetch(after: start)
        guard case .resync(.expired, let next) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(try notebook.transactions(after: next).isEmpty)
        #expect(hornbeamError { _ = try answer.get() }?.code == .historyTokenExpired)
        let last = try #require(try notebook.transactions().last)
        try notebook.history.purge(before: last)
        #expect(try notebook.transactions().map(\.number) == [last.number])
        try notebook.history.purge(before: .distantFuture)
        #expect(try notebook.transactions().isEmpty)
        try notebook.save("c")
        #expect(try notebook.transactions(after: next).count == 1)
    }

    @Test("HIS-8, BAT-5: batch requests are in history, with their author", arguments: StoreKind.withOtherProcess)
    func batchesAreRecorded(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        try notebook.write { context in
            context.transactionAuthor = "batch"
            let rows = (0..<100).map { ["uid": PropertyValue.string("n\($0)"), "size": .int(Int64($0))] }
            try context.execute(BatchInsertRequest(entityName: "HNote", objects: rows))
            var update = BatchUpdateRequest(HNote.self, predicate: try FetchPredicate(format: "size < 10"))
            update.set(HNote.text, to: "small")
            try context.execute(update)
            for format in ["size >= 98", "size == 1000"] {
                try context.execute(BatchDeleteRequest(HNote.self, predicate: try FetchPredicate(format: format)))
            }
        }
        let transactions = try notebook.transactions()
        #expect(transactions.map(\.kind) == [.batch, .batch, .batch])
        #expect(transactions.map(\.author) == ["batch", "batch", "batch"])
        #expect(transactions.map(\.changeCount) == [100, 10, 2])
        #expect(transactions[1].changes.allSatisfy { $0.kind == .updated(["text"]) })
        #expect(transactions[2].changes.map(\.tombstone) == [["uid": "n98", "size": 98], ["uid": "n99", "size": 99]])
    }

    @Test("NOT-7, HIS-2: a transaction of history can be merged into a context", arguments: StoreKind.withOtherProcess)
    func transactionsCanBeMerged(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        let (a, b) = (try notebook.save("a"), try notebook.save("b"))
        let context = notebook.container.newContext()
        context.automaticallyMergesChangesFromParent = false
        let (first, second) = (try context.existingObject(HNote.self, with: a), try context.existingObject(HNote.self, with: b))
        #expect(first.text == nil && second.uid == "b")
        let token = try notebook.history.currentToken()
        try notebook.change(a) { note, _ in note.text = "from outside" }
        try notebook.change(b) { note, context in context.delete(note) }
        #expect(first.text == nil)
        for transaction in try notebook.transactions(after: token) { try context.mergeChanges(from: transaction) }
        #expect(first.text == "from outside")
        #expect(second.isDeleted || second.managedObjectContext == nil || !context.registeredObjects.contains(second))
        #expect(try context.count(FetchRequest<HNote>()) == 1)
    }

    @Test("HIS-7: registered consumers find the records that they have not read", arguments: StoreKind.withOtherProcess)
    func consumersContinue(kind: StoreKind) throws {
        let notebook = try Notebook(kind)
        try notebook.save("a")
        #expect(hornbeamError { _ = try notebook.history.fetch(for: "widget") }?.code == .unknownName)
        try notebook.history.register("widget")
        #expect(try notebook.history.fetch(for: "widget").get().isEmpty)
        let id = try notebook.save("b")
        let answer = try notebook.history.fetch(for: "widget")
        #expect(try answer.get().map { $0.changes.map(\.objectID) } == [[id]])
        try notebook.history.register("widget", at: answer.token)
        try notebook.history.register("sync", at: answer.token)
        #expect(try notebook.history.fetch(for: "widget").get().isEmpty)
        #expect(try notebook.history.consumers().map(\.name) == ["sync", "widget"])
        #expect(try notebook.history.consumers().map(\.token) == [answer.token, answer.token])
        try notebook.history.unregister("widget")
        #expect(try notebook.history.consumers().map(\.name) == ["sync"])
    }

    @Test("HIS-7: retention bounds history, and keeps it longer for consumers that have not read it", arguments: StoreKind.withOtherProcess)
    func retentionBounds(kind: StoreKind) throws {
        let notebook = try Notebook(kind, HistoryTracking(recordCount: 10, unreadRecordCount: 30))
        let start = try notebook.history.currentToken()
        for number in 0..<20 { try notebook.save("\(number)") }
        #expect(try (10...11).contains(notebook.transactions().count))
        guard case .resync(.expired, _) = try notebook.history.fetch(after: start) else {
            return #expect(Bool(false), "what was trimmed must not be passed over")
        }
        try notebook.history.register("slow")
        for number in 20..<40 { try notebook.save("\(number)") }
        #expect(try notebook.history.fetch(for: "slow").get().count == 20)
        for number in 40..<80 { try notebook.save("\(number)") }
        #expect(try (30...33).contains(notebook.transactions().count))
        guard case .resync(.expired, let token) = try notebook.history.fetch(for: "slow") else {
            return #expect(Bool(false), "a consumer that never comes back must not keep everything")
        }
        try notebook.history.register("slow", at: token)
        #expect(try notebook.history.fetch(for: "slow").get().isEmpty)
    }

    @Test("HIS-2: history is complete after the store was opened again")
    func historySurvivesReopening() throws {
        let notebook = try Notebook(.onDisk)
        let id = try notebook.save("a")
        let description = notebook.container.persistentStoreDescriptions[0]
        try notebook.container.close()
        let container = try PersistentContainer(name: "again", model: Notebook.model(), classes: [HNote.self, HFolder.self])
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        let transactions = try container.history.fetch(after: nil).get()
        #expect(transactions.map { $0.changes.map(\.objectID) } == [[id]])
        try container.close()
    }
}
