internal import Foundation
internal import Hornbeam
internal import HornbeamModel
internal import Synchronization

extension ConformanceCheck {
    static let history = ConformanceCheck("history has each save with its changes, or is refused with unsupportedRequest") { bench in
        guard let start = try bench.historyToken() else { return }
        let writer = bench.newContext()
        writer.transactionAuthor = "author"
        writer.name = "context"
        let (author, tag) = (try writer.make("Author", ["name": "a"]), try writer.make("Tag", ["label": "t"]))
        try writer.save()
        let book = try writer.make("Book", ["title": "b"])
        try book.setObject(author, forKey: "author")
        try author.setValue(1, forKey: "born")
        try writer.save()
        writer.delete(tag)
        try writer.save()
        let ids = [author, tag, book].map(\.objectID)
        try bench.everywhere { _ in
            let found = try bench.container.history.fetch(after: start).get()
            try bench.require(found.map(\.author) == Array(repeating: "author", count: 3), "the authors are \(found.map(\.author))")
            try bench.require(found.map(\.contextName) == Array(repeating: "context", count: 3), "the contexts are \(found.map(\.contextName))")
            let numbers = found.map(\.number)
            try bench.require(numbers == Set(numbers).sorted(), "the numbers are \(numbers)")
            try bench.require(found.map(\.timestamp) == found.map(\.timestamp).sorted(), "times decrease")
            let kinds = found.map { Dictionary(uniqueKeysWithValues: $0.changes.map { ($0.objectID, $0.kind) }) }
            let wanted: [[ManagedObjectID: HistoryChange.Kind]] = [
                [ids[0]: .inserted, ids[1]: .inserted], [ids[2]: .inserted, ids[0]: .updated(["born", "works"])], [ids[1]: .deleted(["label": "t"])],
            ]
            try bench.require(kinds == wanted, "the changes are \(kinds)")
        }
    }

    static let historyParts = ConformanceCheck("history is read in parts, by consumers, and removed up to a token") { bench in
        guard let start = try bench.historyToken() else { return }
        let history = bench.container.history
        let writer = bench.newContext()
        for number in 0 ..< 6 {
            try writer.make("Tag", ["label": .string("\(number)")])
            try writer.save()
        }
        let all = try history.fetch(after: start).get().map(\.number)
        var (token, read): (HistoryToken, [UInt64]) = (start, [])
        for _ in 0 ..< 4 {
            let part = try history.fetch(after: token, limit: 2)
            read += try part.get().map(\.number)
            token = part.token
        }
        try bench.require(all.count == 6 && read == all, "the parts are \(read) of \(all)")
        let middle = try history.fetch(after: start, limit: 3).token
        try history.register("reader", at: middle)
        try bench.everywhere { _ in
            let history = bench.container.history
            let (unread, rest) = try (history.fetch(for: "reader").get(), history.fetch(after: middle).get())
            try bench.require(unread.map(\.number) == Array(all[3...]) && rest.map(\.number) == Array(all[3...]), "the reader has \(unread.count) left")
        }
        try bench.container.history.purge(before: middle)
        let left = try bench.container.history.fetch(after: nil).get().map(\.number)
        try bench.require(left == Array(all[3...]), "\(left) is left")
        guard case .resync(.expired, _) = try bench.container.history.fetch(after: start) else {
            throw ConformanceFinding(text: "an old token is not reported")
        }
    }

    static let historyOfThreads = ConformanceCheck("a reader that continues from token to token receives each of many simultaneous saves once") { bench in
        guard var token = try bench.historyToken() else { return }
        let saved = SavedObjects(threads: 4)
        for _ in 0 ..< 4 {
            Thread.detachNewThread { [container = bench.container] in saved.run { try save(25, container, saved) } }
        }
        var read: [ManagedObjectID] = []
        var isLast = false
        while !isLast {
            isLast = saved.areComplete
            let answer = try bench.container.history.fetch(after: token, limit: 7)
            read += try answer.get().flatMap(\.changes).map(\.objectID)
            token = answer.token
        }
        while case let answer = try bench.container.history.fetch(after: token, limit: 7), try !answer.get().isEmpty {
            read += try answer.get().flatMap(\.changes).map(\.objectID)
            token = answer.token
        }
        let ids = saved.ids
        try bench.require(saved.errors.isEmpty, saved.errors.joined(separator: "; "))
        try bench.require(read.count == ids.count && Set(read) == ids, "read \(read.count) changes of \(ids.count)")
    }
}

/// Saves new tags one by one.
private func save(_ count: Int, _ container: PersistentContainer, _ saved: SavedObjects) throws {
    let context = container.newContext()
    for number in 0 ..< count {
        let tag = try context.make("Tag", ["label": .string("\(number)")])
        try context.save()
        saved.add(tag.objectID)
    }
}

/// The objects that several threads have saved.
private final class SavedObjects: Sendable {
    private let state: Mutex<(ids: Set<ManagedObjectID>, running: Int, errors: [String])>

    init(threads: Int) { state = Mutex(([], threads, [])) }

    var areComplete: Bool { state.withLock { $0.running == 0 } }
    var ids: Set<ManagedObjectID> { state.withLock { $0.ids } }
    var errors: [String] { state.withLock { $0.errors } }

    func add(_ id: ManagedObjectID) { _ = state.withLock { $0.ids.insert(id) } }

    func run(_ body: () throws -> Void) {
        do { try body() } catch { state.withLock { $0.errors.append("\(error)") } }
        state.withLock { $0.running -= 1 }
    }
}

extension ConformanceBench {
    /// The position after the newest transaction; nil for a store without history.
    fileprivate func historyToken() throws -> HistoryToken? {
        do { return try container.history.currentToken() } catch let error as HornbeamError where error.code == .unsupportedRequest { return nil }
    }
}
