// The state of cleaning: the page files that are being emptied, and the progress of the walk over the trees.

import HornbeamThreads

/// The state of a store's cleaning.
final class Cleaner: Sendable {
    /// The files that are being emptied, and the progress of the walk.
    struct Round: Sendable {
        var files: Set<PageFileNumber>
        var hasBlobs: Bool
        var tree = StoreVersion.valuesTree
        var key: [UInt8] = []
        /// Live bytes of the files at the start.
        var live: Int
    }

    private struct State {
        var round: Round?
        /// Files with an unreadable page.
        var barred: Set<PageFileNumber> = []
        var isBusy = false
        var isUnfinished = false
    }

    private let state = Guarded(State())

    /// Nodes moved by one transaction, while other writers wait.
    static let nodesPerSlice = 12

    var round: Round? {
        get { state.withLock { $0.round } }
        set { state.withLock { $0.round = newValue } }
    }

    var barred: Set<PageFileNumber> { state.withLock { $0.barred } }

    /// True if the budget ended before the round; the background thread continues it.
    var isUnfinished: Bool { state.withLock { $0.isUnfinished && !$0.isBusy } }

    /// Starts cleaning; false if another thread cleans.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
    }

    /// Starts cleaning after other threads have ended theirs.
    func beginAfterOthers() {
        state.wait { (state) -> Void? in
            if state.isBusy { return nil }
            state.isBusy = true
            return ()
        }
    }

    func end(isUnfinished: Bool) {
        state.withLock { state in
            assert(state.isBusy, "Cleaning ends after it began.")
            state.isBusy = false
            state.isUnfinished = isUnfinished
        }
        state.signal()
    }

    /// Excludes the round's files from cleaning, because a page in them cannot be read.
    func giveUp() {
        state.withLock { state in
            assert(state.isBusy, "The thread that cleans gives up.")
            state.barred.formUnion(state.round?.files ?? [])
            state.round = nil
        }
    }
}
