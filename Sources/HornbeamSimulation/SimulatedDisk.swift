// A disk in memory that loses data in a simulated power failure as a real disk does. Unsynced writes may be lost in part. Created, renamed and
// removed entries may be lost until their folder is synced. The disk records every operation, so that its state after a crash at any
// operation can be computed. That state is a disk too, on which a store can be opened.

internal import HornbeamEngine
internal import HornbeamThreads

/// A file system in memory that distinguishes written from synced data, and records all operations.
package final class SimulatedDisk: FileSystem {
    /// One recorded operation.
    enum Operation {
        case create(DiskState.EntryChange, node: DiskState.NodeID, isDirectory: Bool)
        case change(DiskState.EntryChange)
        case write(DiskState.NodeID, offset: Int, [UInt8])
        case sync(DiskState.NodeID)
        case syncDirectory(DiskState.NodeID)
        /// A failed sync: no later sync makes the unsynced bytes durable, but they may survive a crash.
        case failedSync(DiskState.NodeID)
    }

    /// An event of a workload between operations.
    package enum Mark: Hashable, Sendable {
        /// Commit n was passed to the engine.
        case submitted(UInt64)
        /// The engine has acknowledged commit n.
        case acknowledged(UInt64)
        /// Recovery is complete; nested crashes happen before.
        case recovered
    }

    /// The recorded operations.
    struct Journal {
        /// The durable state at the start of the recording.
        var base: DiskState
        /// The unsynced pieces at the start of the recording.
        var pieces: [CrashModel.Piece] = []
        var operations: [Operation] = []
        /// The events, each with the number of operations before it.
        var marks: [(operations: Int, mark: Mark)] = []
        /// The path by which each node was created or last renamed, for reports.
        var names: [DiskState.NodeID: String] = [:]
    }

    struct State {
        var live: DiskState
        /// The content of each file at its last sync since the start of the journal. A failed sync may revert to it.
        var synced: [DiskState.NodeID: [UInt8]] = [:]
        var nextNode: DiskState.NodeID
        var journal: Journal
        var locked: Set<DiskState.NodeID> = []
        var shared: [DiskState.NodeID: SharedMemoryLocks] = [:]
        /// The largest number of bytes of all files, in whole blocks; nil for no limit.
        var capacity: Int?
        /// The unreadable bytes of each file.
        var unreadable: [String: Set<Int>] = [:]
    }

    /// Guards all state of the disk.
    let state: Guarded<State>

    /// An empty disk.
    package convenience init() { self.init(DiskState()) }

    /// A disk with a durable content.
    init(_ base: DiskState) {
        state = Guarded(
            State(live: base, nextNode: (base.nodes.keys.max() ?? 0) + 1, journal: Journal(base: base)))
    }

    /// The number of recorded operations, which is the next crash point.
    package var operationCount: Int { state.withLock { $0.journal.operations.count } }

    /// The index of the first failed sync among the operations.
    package var firstFailedSync: Int? {
        journal.operations.firstIndex { if case .failedSync = $0 { true } else { false } }
    }

    /// Records an event of the workload.
    package func mark(_ mark: Mark) {
        state.withLock { $0.journal.marks.append(($0.journal.operations.count, mark)) }
    }

    /// The newest acknowledged and the newest submitted commit, according to the marks.
    package var commitBounds: (acknowledged: UInt64, submitted: UInt64) {
        journal.marks.reduce(into: (acknowledged: UInt64(0), submitted: UInt64(0))) { commitBounds, entry in
            switch entry.mark {
            case .acknowledged(let number): commitBounds.acknowledged = max(commitBounds.acknowledged, number)
            case .submitted(let number): commitBounds.submitted = max(commitBounds.submitted, number)
            case .recovered: break
            }
        }
    }

    var journal: Journal { state.withLock { $0.journal } }

    /// The bytes of all files by path, as the running process reads them.
    package var files: [String: [UInt8]] { state.withLock { $0.live.files() } }

    /// Changes the bytes of a file, durably, to simulate damage.
    package func damage(_ path: String, _ body: (inout [UInt8]) -> Void) {
        state.withLock { state in
            guard let node = state.live.node(at: path), var content = state.live.content(of: node) else {
                preconditionFailure("There is no file \(path) to damage.")
            }
            body(&content)
            state.live.replaceContent(of: node, with: content)
            state.synced.removeAll()
            // The journal starts again, because images of earlier operations would not have the damage.
            state.journal = Journal(base: state.live, names: state.journal.names)
        }
    }

    /// Makes a byte of a file unreadable: reads with it fail.
    package func makeUnreadable(_ path: String, at offset: UInt64) {
        state.withLock { _ = $0.unreadable[path, default: []].insert(Int(offset)) }
    }

    /// A disk with the visible content of this one, all of it durable and readable.
    package func copy() -> SimulatedDisk { SimulatedDisk(state.withLock { $0.live }) }

    /// The largest number of bytes of all files, in whole blocks; nil for no limit. A larger write writes the part that fits and throws `full`.
    package var capacity: Int? {
        get { state.withLock { $0.capacity } }
        set { state.withLock { $0.capacity = newValue } }
    }

    /// Bytes of all files, in whole blocks.
    package var used: Int { state.withLock { $0.live.used } }

    /// The disk after the process was killed after an operation. The system's cache still contains all writes; a later power failure may lose
    /// the unsynced ones. The new disk has the marks up to that operation.
    package func killed(after operations: Int) -> SimulatedDisk {
        let journal = journal
        var model = CrashModel(journal)
        for operation in journal.operations[..<operations] { model.apply(operation) }
        let disk = SimulatedDisk(model)
        for entry in journal.marks where entry.operations <= operations { disk.mark(entry.mark) }
        return disk
    }

    /// A disk whose cache contains the unsynced pieces of a model.
    private convenience init(_ model: CrashModel) {
        let live = model.image([CrashModel.Fate](repeating: .kept, count: model.pieces.count))
        self.init(live)
        state.withLock { $0.journal = Journal(base: model.durable, pieces: model.pieces) }
    }
}
