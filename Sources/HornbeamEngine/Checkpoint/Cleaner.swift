// The state of the cleaner: the page files that it empties, and its progress in the walk over the trees.

import HornbeamThreads

/// The state of a store's cleaning.
final class Cleaner: Sendable {
    /// A set of files to empty, and the progress of the walk over all trees.
    struct Round: Sendable {
        var files: Set<PageFileNumber>
        var hasBlobs: Bool
        var tree = StoreVersion.valuesTree
        var key: [UInt8] = []
        /// The live bytes of the files at the start of the round.
        var live: Int
    }

    private struct State {
        var round: Round?
        /// Files with an unreadable page. They are not cleaned.
        var excludedFiles: Set<PageFileNumber> = []
        var isBusy = false
        var isUnfinished = false
    }

    private let state = Guarded(State())

    /// The number of nodes that one transaction moves. Other writers wait meanwhile.
    static let nodesPerSlice = 12

    var round: Round? {
        get { state.withLock { $0.round } }
        set { state.withLock { $0.round = newValue } }
    }

    var excludedFiles: Set<PageFileNumber> { state.withLock { $0.excludedFiles } }

    /// True if the last cleaning ended before the end of its round, because its budget was used up. The background thread continues it.
    var isUnfinished: Bool { state.withLock { $0.isUnfinished && !$0.isBusy } }

    /// Starts cleaning. False if another thread is cleaning.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
    }

    /// Waits until no other thread is cleaning, and starts cleaning.
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

    /// Ends the round and excludes its files from cleaning, because a page cannot be read.
    func abandonRound() {
        state.withLock { state in
            assert(state.isBusy, "The thread that cleans gives up.")
            state.excludedFiles.formUnion(state.round?.files ?? [])
            state.round = nil
        }
    }
}
