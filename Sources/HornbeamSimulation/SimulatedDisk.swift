// A disk in memory with the losses of a real one: in a power failure, unsynced writes may be lost in pieces, and created, renamed or
// removed entries may be lost until the folder is synced. The disk records every operation, so that the state after a crash at any
// operation can be made. That state is itself a disk, on which a store can be opened.

internal import HornbeamEngine
internal import HornbeamThreads

/// A file system with the semantics of syncs, which records all operations.
package final class SimulatedDisk: FileSystem {
    /// One recorded operation.
    enum Operation {
        case create(DiskState.EntryChange, node: DiskState.NodeID, isDirectory: Bool)
        case change(DiskState.EntryChange)
        case write(DiskState.NodeID, offset: Int, [UInt8])
        case sync(DiskState.NodeID)
        case syncDirectory(DiskState.NodeID)
        /// A failed sync: no later sync makes the unsynced bytes durable, but a crash may keep them.
        case failedSync(DiskState.NodeID)
    }

    /// Events of a workload between operations.
    package enum Mark: Hashable, Sendable {
        /// Commit n was passed to the engine.
        case submitted(UInt64)
        /// The engine has acknowledged commit n.
        case acknowledged(UInt64)
        /// Recovery is over; nested crashes happen before this.
        case recovered
    }

    /// The recorded operations.
    struct Journal {
        /// The durable state at the start of the recording.
        var base: DiskState
        /// The unsynced pieces at the start of the recording.
        var pieces: [CrashModel.Piece] = []
        var operations: [Operation] = []
        /// Marks with the number of operations before them.
        var marks: [(operations: Int, mark: Mark)] = []
        /// The path by which each node was created or last renamed, for reports.
        var names: [DiskState.NodeID: String] = [:]
    }

    struct State {
        var live: DiskState
        /// The files synced since the journal began: the content to which a failed sync may revert.
        var synced: [DiskState.NodeID: [UInt8]] = [:]
        var nextNode: DiskState.NodeID
        var journal: Journal
        var locked: Set<DiskState.NodeID> = []
        /// Bytes that the files may take, in whole blocks; nil for a disk without a limit.
        var capacity: Int?
    }

    /// Guards everything.
    let state: Guarded<State>

    /// An empty disk.
    package convenience init() { self.init(DiskState()) }

    /// A disk on which everything is durable.
    init(_ base: DiskState) {
        state = Guarded(
            State(live: base, nextNode: (base.nodes.keys.max() ?? 0) + 1, journal: Journal(base: base)))
    }

    /// The number of operations recorded: the next crash point.
    package var operationCount: Int { state.withLock { $0.journal.operations.count } }

    /// The operation with which a sync failed for the first time.
    package var firstFailedSync: Int? {
        journal.operations.firstIndex { if case .failedSync = $0 { true } else { false } }
    }

    /// Records an event of the workload.
    package func mark(_ mark: Mark) {
        state.withLock { $0.journal.marks.append(($0.journal.operations.count, mark)) }
    }

    /// The newest acknowledged and the newest submitted commit, according to the marks.
    package var promises: (acknowledged: UInt64, submitted: UInt64) {
        journal.marks.reduce(into: (acknowledged: UInt64(0), submitted: UInt64(0))) { promises, entry in
            switch entry.mark {
            case .acknowledged(let number): promises.acknowledged = max(promises.acknowledged, number)
            case .submitted(let number): promises.submitted = max(promises.submitted, number)
            case .recovered: break
            }
        }
    }

    var journal: Journal { state.withLock { $0.journal } }

    /// Every file's path and bytes as the running process sees them.
    package var files: [String: [UInt8]] { state.withLock { $0.live.files() } }

    /// Replaces the bytes of a file durably, as damage for tests.
    package func damage(_ path: String, _ body: (inout [UInt8]) -> Void) {
        state.withLock { state in
            guard let node = state.live.node(at: path), var content = state.live.content(of: node) else {
                preconditionFailure("There is no file \(path) to damage.")
            }
            body(&content)
            state.live.replaceContent(of: node, with: content)
            state.synced.removeAll()
            // The journal begins again: images of earlier operations would lack the damage.
            state.journal = Journal(base: state.live, names: state.journal.names)
        }
    }

    /// A disk with the visible content of this one, all of it durable.
    package func copy() -> SimulatedDisk { SimulatedDisk(state.withLock { $0.live }) }

    /// Bytes that the files may take, in whole blocks. A write beyond them writes the part that fits and throws `full`. Nil: no limit.
    package var capacity: Int? {
        get { state.withLock { $0.capacity } }
        set { state.withLock { $0.capacity = newValue } }
    }

    /// Bytes that the files take, in whole blocks.
    package var used: Int { state.withLock { $0.live.used } }

    /// The disk for the next process after this one is killed after an operation: the cache keeps everything, and a later power failure may
    /// still lose unsynced bytes. The marks up to that operation are kept.
    package func killed(after operations: Int) -> SimulatedDisk {
        let journal = journal
        var model = CrashModel(journal)
        for operation in journal.operations[..<operations] { model.apply(operation) }
        let disk = SimulatedDisk(model)
        for entry in journal.marks where entry.operations <= operations { disk.mark(entry.mark) }
        return disk
    }

    /// A disk whose cache holds the unsynced pieces of a model.
    private convenience init(_ model: CrashModel) {
        let live = model.image([CrashModel.Fate](repeating: .kept, count: model.pieces.count))
        self.init(live)
        state.withLock { $0.journal = Journal(base: model.durable, pieces: model.pieces) }
    }
}
