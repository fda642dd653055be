import Foundation
import Hornbeam

/// Documents in a folder, changed by processes that are killed. Judges them after each kill.
final class DocumentTrial {
    /// The newest steps in the saved state and in the state of the last autosave.
    private struct State: Equatable {
        var saved = 0
        var working = 0
    }

    struct Outcome {
        /// The number of acknowledged operations.
        var operations = 0
        /// The operation during which the process was killed.
        var killed: String?
        var hasRecovery = false
    }

    let folder: URL
    let seed: UInt64
    /// The number of the present document. Each `save(as:)` makes the next one.
    private(set) var number = 1
    /// Nil before the document was made.
    private var state: State?

    init(folder: URL, seed: UInt64) { (self.folder, self.seed) = (folder, seed) }

    static func url(_ number: Int, in folder: URL) -> URL { folder.appendingPathComponent("Trial \(number).document") }

    private func exists(_ number: Int) -> Bool { FileManager.default.fileExists(atPath: Self.url(number, in: folder).path) }

    /// Applies the reported operations, and checks that the documents have an expected state.
    func judge(_ reports: [String]) throws -> Outcome {
        var outcome = Outcome()
        var pending: DocumentOperation?
        for report in reports {
            guard let space = report.firstIndex(of: " "), let operation = DocumentOperation(report[report.index(after: space)...])
            else { throw Finding("The report “\(report)” cannot be read.") }
            pending = report.hasPrefix("begin") ? operation : nil
            guard pending == nil else { continue }
            outcome.operations += 1
            if operation.kind == .saveAs { try leave(after: operation) }
            state = Self.states(after: operation, state).last!
        }
        outcome.killed = pending?.kind.rawValue
        try judge(pending, &outcome)
        return outcome
    }

    /// The states that an operation can leave when the process is killed in it. The last one is the state after it.
    private static func states(after operation: DocumentOperation, _ state: State?) -> [State] {
        guard let state else { return [State()] }
        let step = operation.step
        return switch operation.kind {
        case .create: [State()]
        case .autosave: [state, State(saved: state.saved, working: step)]
        case .save, .saveAs: [state, State(saved: state.saved, working: step), State(saved: step, working: step)]
        case .revert: [state, State(saved: state.saved, working: state.saved)]
        case .close: [state]
        }
    }

    /// Judges a document that a `save(as:)` has left, and continues with the new one.
    private func leave(after operation: DocumentOperation) throws {
        guard let state else { throw Finding("A document is moved that was never made.") }
        var ignored = false
        try expect([State(saved: state.saved, working: state.saved)], &ignored)
        try? FileManager.default.removeItem(at: Self.url(number, in: folder))
        number += 1
    }

    private func judge(_ pending: DocumentOperation?, _ outcome: inout Outcome) throws {
        guard exists(number) else {
            guard state == nil else { throw Finding("document \(number) is missing") }
            return
        }
        guard let pending else { return try expect([state ?? State()], &outcome.hasRecovery) }
        guard pending.kind == .saveAs, let old = state else {
            return try expect(Self.states(after: pending, state), &outcome.hasRecovery)
        }
        let isMoved = exists(number + 1)
        // The old document shows its changes until its working store is discarded, which happens after the new document is complete.
        let moved = State(saved: old.saved, working: old.saved)
        try expect([old, State(saved: old.saved, working: pending.step)] + (isMoved ? [moved] : []), &outcome.hasRecovery)
        guard isMoved else { return }
        number += 1
        try expect([State(saved: pending.step, working: pending.step)], &outcome.hasRecovery)
    }

    // MARK: Opening

    /// Opens the document, which must be in one of the states, and continues with that state.
    private func expect(_ states: [State], _ hasRecovery: inout Bool) throws {
        let url = Self.url(number, in: folder)
        let found = try Self.onMainActor { try Self.open(url) }
        guard states.contains(found.state) else {
            throw Finding("document \(number) has \(found.state), and should have one of \(states)")
        }
        guard found.isOffered || found.state.saved == found.state.working else {
            throw Finding("document \(number) has \(found.state), and offers no recovery")
        }
        hasRecovery = hasRecovery || found.isOffered
        state = found.isReverted ? State(saved: found.state.saved, working: found.state.saved) : found.state
    }

    private struct Found {
        var state = State()
        var isOffered = false
        var isReverted = false
    }

    /// Opens a document, reads both of its states, and compares all their objects with the oracle. Accepts or declines a recovery, and closes the
    /// document or leaves it open, at random.
    @MainActor private static func open(_ url: URL) throws -> Found {
        let document = try PersistentDocument(opening: url, model: TrialModel.make(), classes: TrialModel.classes)
        document.autosaveDelay = nil
        var found = Found()
        found.isOffered = document.recovery != nil
        found.state.working = try newestStep(in: document.context)
        found.state.saved = try savedStep(url)
        if Bool.random() { document.recover() }
        if Bool.random() {
            try document.revert()
            found.isReverted = true
            let step = try newestStep(in: document.context)
            guard step == found.state.saved else { throw Finding("reverting shows step \(step) instead of \(found.state.saved)") }
        }
        if Bool.random() { try document.close() }
        return found
    }

    /// The newest step in the saved store.
    private static func savedStep(_ url: URL) throws -> Int {
        let container = try PersistentContainer(name: "Saved", model: TrialModel.make(), classes: TrialModel.classes)
        var description = PersistentStoreDescription(url: url.appending(path: "saved.hornbeam"))
        description.isReadOnly = true
        description.createsIfMissing = false
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        defer { try? container.close() }
        return try container.performAndWait { try newestStep(in: $0) }
    }

    /// The newest step that a context shows, after all its objects were compared with the oracle.
    private static func newestStep(in context: ManagedObjectContext) throws -> Int {
        let step = try GraphTrial.newestStep(in: context)
        var oracle = GraphOracle()
        oracle.advance(to: step)
        try GraphTrial.expect(oracle, in: context)
        return step
    }

    /// Documents belong to the main actor. The programme runs on the main thread, and tests run on others.
    private static func onMainActor<Result: Sendable>(_ body: @MainActor @Sendable () throws -> Result) throws -> Result {
        if Thread.isMainThread { return try MainActor.assumeIsolated(body) }
        return try DispatchQueue.main.sync { try MainActor.assumeIsolated(body) }
    }
}
