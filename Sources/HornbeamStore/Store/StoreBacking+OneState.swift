internal import HornbeamModel
internal import HornbeamThreads

// Several reads of a querying store from one committed state, such as those of a fetch and of its prefetching.

extension StoreBacking {
    /// The state that a thread reads.
    struct OneState: Sendable {
        /// The number of saves at its beginning; nil if the thread makes saves wait.
        let saveCount: Int?
    }

    /// Stops reads of a state that is older than the cache. They are repeated.
    struct NewerCache: Error {}

    /// Runs a body whose reads return one state. It runs again if a save has ended meanwhile, because the cache then has newer rows. After some attempts,
    /// saves wait for it.
    func readingOneState<Result>(_ body: () throws -> Result) throws -> Result {
        guard let querying, oneState.current == nil else { return try body() }
        for _ in 0 ..< Self.overlappingReadsMax {
            let before = savesEnded
            do {
                let result = try read(querying, OneState(saveCount: before), body)
                if savesEnded == before { return result }
            } catch is NewerCache {}
            // Members that were read now are read again.
            forgetMembers()
        }
        // The store begins to read first: it may have to wait for others that have begun, and that wait for a save.
        return try read(querying, OneState(saveCount: nil)) { try withTurn(body) }
    }

    private func read<Result>(_ querying: any QueryingStore, _ state: OneState, _ body: () throws -> Result) throws -> Result {
        var result: Result?
        try oneState.withValue(state) {
            try querying.readOneState { result = try body() }
        }
        guard let result else {
            throw HornbeamError(.storeOperationFailed, "The custom store has not called the body of readOneState(_:). Correct it.")
        }
        return result
    }

    func reading<Found, Result>(
        in state: OneState, isCancellable: Bool, _ ask: (any CustomStore) throws -> Found, _ take: (Found) throws -> Result
    ) throws -> Result {
        let found = try ask(custom)
        guard let before = state.saveCount else { return try take(found) }
        return try withTurn(isCancellable: isCancellable) {
            guard savesEnded == before else { throw NewerCache() }
            return try take(found)
        }
    }

    /// True if the calling thread reads several times from one state.
    var readsOneState: Bool { oneState.current != nil }
}
