internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads

/// Hands each commit to the contexts' inboxes and to the streams of changes.
final class ChangeBroadcast: Sendable {
    private struct State {
        var inboxes: [UInt64: ChangeInbox] = [:]
        var streams: [UInt64: AsyncStream<ObjectChanges>.Continuation] = [:]
        var lastStream: UInt64 = 0
    }
    private let state = Guarded(State())

    func subscribe(_ inbox: ChangeInbox, token: UInt64) {
        state.withLock { $0.inboxes[token] = inbox }
    }

    func unsubscribe(token: UInt64) {
        state.withLock { $0.inboxes[token] = nil }
    }

    /// A commit happened. `ids` turns references into IDs.
    func announce(_ change: StoreChange, ids: (ObjectReference) -> ManagedObjectID) {
        let (inboxes, streams) = state.withLock { state in
            (state.inboxes.filter { $0.key != change.originator }.map(\.value), Array(state.streams.values))
        }
        for inbox in inboxes { inbox.append(change) }
        guard !streams.isEmpty else { return }
        let changes = ObjectChanges(
            inserted: Set(change.inserted.map(ids)), updated: Set(change.updated.map { ids($0.reference) }),
            deleted: Set(change.deleted.map(ids)), transaction: change.transaction, author: change.author,
            contextName: change.contextName)
        for stream in streams { stream.yield(changes) }
    }

    /// The commits from now on. Whoever falls behind by more than 256 loses the oldest.
    func stream() -> AsyncStream<ObjectChanges> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ObjectChanges.self, bufferingPolicy: .bufferingNewest(256))
        let number = state.withLock { state in
            state.lastStream += 1
            state.streams[state.lastStream] = continuation
            return state.lastStream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.streams[number] = nil }
        }
        return stream
    }

    /// Ends all streams; for a coordinator that closes.
    func finish() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
