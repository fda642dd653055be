import Foundation
import Hornbeam
import Synchronization
import Testing

/// Throws at one step of the operations on a document's files, or at all steps from it on, until it is ended.
final class StepFault: Sendable {
    private let at: Int
    private let isSticky: Bool
    private let state = Mutex((count: 0, failed: "", hasEnded: false))

    init(at step: Int, isSticky: Bool) { (at, self.isSticky) = (step, isSticky) }

    func perform(_ step: String) throws {
        let fails = state.withLock { state in
            state.count += 1
            let isDue = isSticky ? state.count >= at : state.count == at
            guard isDue, !state.hasEnded else { return false }
            if state.failed.isEmpty { state.failed = step }
            return true
        }
        if fails { throw HornbeamError(.full, "An injected fault: \(step).") }
    }

    /// No more steps fail.
    func end() { state.withLock { $0.hasEnded = true } }
    /// The step that failed; empty if none did.
    var failed: String { state.withLock { $0.failed } }
}

/// The life of a document: created, changed, saved, autosaved, reverted, saved as another document, closed, opened and reverted.
@MainActor final class DocumentScript {
    /// The books in the saved state, and in the state after the last autosave.
    struct State: Equatable {
        var saved: [Int] = []
        var working: [Int] = []
    }

    enum Operation: Int, CaseIterable {
        case create, save, autosave, saveAgain, revert, saveAs, autosaveAgain, close, open, revertRecovery, closeAgain

        /// The book that is inserted before the operation.
        var book: Int? {
            switch self {
            case .save, .autosave, .saveAgain, .revert, .saveAs, .autosaveAgain: rawValue
            default: nil
            }
        }
    }

    /// In memory if possible: a script syncs hundreds of times.
    let folder: URL
    private(set) var state = State()
    private var document: PersistentDocument?
    private var isSecond = false

    var first: URL { folder.appending(path: "First.document") }
    var second: URL { folder.appending(path: "Second.document") }

    init() throws {
        let memory = "/dev/shm"
        let parent = FileManager.default.isWritableFile(atPath: memory) ? URL(filePath: memory) : FileManager.default.temporaryDirectory
        folder = parent.appending(path: "documents-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func removeFiles() {
        document = nil
        try? FileManager.default.removeItem(at: folder)
    }

    /// Inserts the book of an operation. Repeated operations do not insert it again.
    func prepare(_ operation: Operation) {
        if let book = operation.book, let document { Shelves.book(book, in: document.context) }
    }

    /// The state after an operation.
    func stateAfter(_ operation: Operation) -> State {
        let changed = state.working + (operation.book.map { [$0] } ?? [])
        return switch operation {
        case .create, .close, .open, .closeAgain: state
        case .save, .saveAgain, .saveAs: State(saved: changed, working: changed)
        case .autosave, .autosaveAgain: State(saved: state.saved, working: changed)
        case .revert, .revertRecovery: State(saved: state.saved, working: state.saved)
        }
    }

    func perform(_ operation: Operation) throws {
        switch operation {
        case .create: document = try PersistentDocument.create(at: first, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        case .open: document = try Self.open(second)
        case .save, .saveAgain: try document?.save()
        case .autosave, .autosaveAgain: try document?.autosave()
        case .revert, .revertRecovery: try document?.revert()
        case .saveAs: try document?.save(as: second)
        case .close, .closeAgain:
            try document?.close()
            document = nil
        }
        document?.autosaveDelay = nil
        state = stateAfter(operation)
        isSecond = isSecond || operation == .saveAs
        if let document { #expect(try Self.books(document) == state.working, "after \(operation)") }
    }

    /// Removes a new document that an operation has left although it failed. Only a disk on which the removal fails too leaves one, and it is
    /// complete.
    func removeComplete(_ url: URL, _ operation: Operation, isExpected: Bool) throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        let state = stateAfter(operation)
        #expect(try isExpected && Self.state(of: url) == State(saved: state.saved, working: state.saved))
        try FileManager.default.removeItem(at: url)
    }

    /// Drops the document without closing it.
    func drop() { document = nil }

    /// Opens the present document again, and returns both of its states; nil if there is no document.
    func reopened() throws -> State? {
        let url = isSecond ? second : first
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        return try Self.state(of: url)
    }

    static func state(of url: URL) throws -> State {
        let document = try open(url)
        let working = try books(document)
        #expect(document.recovery != nil || !document.isEdited)
        try document.revert()
        let saved = try books(document)
        try document.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() == ["lock", "saved.hornbeam"])
        return State(saved: saved, working: working)
    }

    static func open(_ url: URL) throws -> PersistentDocument {
        let document = try PersistentDocument(opening: url, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        document.autosaveDelay = nil
        return document
    }

    static func books(_ document: PersistentDocument) throws -> [Int] {
        try document.context.fetch(ShelfBook.self).map(\.isbn).sorted()
    }
}
