// The state of the cleaning of a store: which page files are being emptied, and how far the walk over the trees is.

import HornbeamThreads

/// What the cleaning of a store is about to do.
final class Cleaner: Sendable {
    /// Files that are being emptied, and how far the walk has come.
    struct Round: Sendable {
        var files: Set<PageFileNumber>
        var hasBlobs: Bool
        var tree = StoreVersion.valuesTree
        var key: [UInt8] = []
        /// Bytes that are live in the files at the beginning.
        var live: Int
    }

    private struct State {
        var round: Round?
        /// Files in which a page could not be read.
        var barred: Set<PageFileNumber> = []
        var isBusy = false
        var isUnfinished = false
    }

    private let state = Guarded(State())

    /// Nodes that are moved while writers wait.
    static let nodesPerSlice = 12

    var round: Round? {
        get { state.withLock { $0.round } }
        set { state.withLock { $0.round = newValue } }
    }

    var barred: Set<PageFileNumber> { state.withLock { $0.barred } }

    /// True if the budget ended before the work did: the background goes on with it.
    var isUnfinished: Bool { state.withLock { $0.isUnfinished && !$0.isBusy } }

    /// False if somebody else cleans.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
    }

    /// Waits while somebody else cleans.
    func beginAfterOthers() {
        state.wait { (state) -> Void? in
            if state.isBusy { return nil }
            state.isBusy = true
            return ()
        }
    }

    func end(isUnfinished: Bool) {
        state.withLock { state in
            state.isBusy = false
            state.isUnfinished = isUnfinished
        }
        state.signal()
    }

    /// A page of the round's files cannot be read: none of them is touched again.
    func giveUp() {
        state.withLock { state in
            state.barred.formUnion(state.round?.files ?? [])
            state.round = nil
        }
    }
}
