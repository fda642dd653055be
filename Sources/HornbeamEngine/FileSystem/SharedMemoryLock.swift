// Shared locks of files in memory, with the rules of the operating system's: the turn is granted first come, first served, and all that an
// engine holds or waits for ends when its lock is released. The simulated disk uses them too.

internal import HornbeamThreads

/// The engines that share one file in memory.
package final class SharedMemoryLocks: Sendable {
    struct State {
        var nextMember = 0
        var members: Set<Int> = []
        /// The members that have recorded that they know the end of the log.
        var recovered: Set<Int> = []
        var holder: Int?
        /// The members that wait for the turn, in the order of their arrival.
        var requests: [Int] = []
        /// The members whose waits for requests have ended.
        var ended: Set<Int> = []
        /// The members whose current or next wait for commits ends.
        var woken: Set<Int> = []
    }

    let state = Guarded(State())

    package init() {}

    package var isShared: Bool { state.withLock { !$0.members.isEmpty } }

    /// Adds a member. `isFilePresent`: whether the path still names the file.
    package func join(_ path: String, isFilePresent: @escaping @Sendable () -> Bool) -> any SharedFileLock {
        let member = state.withLock { state in
            state.nextMember += 1
            state.members.insert(state.nextMember)
            return state.nextMember
        }
        return SharedMemoryLock(path: path, member: member, locks: self, isFilePresent: isFilePresent)
    }

    /// Changes the state and wakes all waiting threads.
    func change<R: Sendable>(_ body: (inout State) -> R) -> R {
        state.withLock { state in
            defer { self.state.monitor.signalAll(.progress) }
            return body(&state)
        }
    }
}

/// The place of one engine among those that share a file in memory.
final class SharedMemoryLock: SharedFileLock {
    private let path: String
    private let member: Int
    private let locks: SharedMemoryLocks
    private let isFilePresent: @Sendable () -> Bool

    init(path: String, member: Int, locks: SharedMemoryLocks, isFilePresent: @escaping @Sendable () -> Bool) {
        (self.path, self.member, self.locks, self.isFilePresent) = (path, member, locks, isFilePresent)
    }

    deinit { release() }

    func verify() throws(EngineError) {
        if !isFilePresent() { throw .storeGone(path) }
    }

    func release() {
        locks.change { [member] state in
            state.members.remove(member)
            state.recovered.remove(member)
            state.requests.removeAll { $0 == member }
            if state.holder == member { state.holder = nil }
        }
    }

    func isSharedWithOthers() throws(EngineError) -> Bool { locks.state.withLock { [member] in $0.members.contains { $0 != member } } }

    func isRecovered() throws(EngineError) -> Bool { locks.state.withLock { !$0.recovered.isEmpty } }

    func recordRecovered() throws(EngineError) { locks.change { [member] in _ = $0.recovered.insert(member) } }

    func tryTakeTurn() throws(EngineError) -> Bool {
        locks.state.withLock { [member] state in
            guard state.holder == nil, state.requests.isEmpty, state.members.contains(member) else { return false }
            state.holder = member
            return true
        }
    }

    func takeTurn() throws(EngineError) {
        // A released member adds no request: the request would stay, and the members behind it would wait without end.
        locks.change { [member] in if $0.members.contains(member) { $0.requests.append(member) } }
        let isTaken = locks.state.wait { [member] state -> Bool? in
            guard state.members.contains(member) else { return false }
            guard state.holder == nil, state.requests.first == member else { return nil }
            state.requests.removeFirst()
            state.holder = member
            return true
        }
        guard isTaken else { throw EngineError(.closed, "The store is closed.", path: path) }
    }

    func releaseTurn() {
        locks.change { [member] in if $0.holder == member { $0.holder = nil } }
    }

    func isTurnRequested() throws(EngineError) -> Bool { locks.state.withLock { !$0.requests.isEmpty } }

    func waitForRequest() {
        locks.state.wait { [member] in $0.requests.isEmpty && !$0.ended.contains(member) ? nil : () }
    }

    func watchCommits() {}

    func waitForCommit() {
        locks.state.wait { [member] state in
            if state.ended.contains(member) { return () }
            return state.woken.remove(member).map { _ in }
        }
    }

    func pause(milliseconds: Int32) {}
    func recordProgress(_ position: UInt64, oldestSnapshot: UInt64?) {}
    func wake() { locks.change { [member] in _ = $0.woken.insert(member) } }
    func endWait() { locks.change { [member] in _ = $0.ended.insert(member) } }

    var holderName: String { "Another engine of this process" }
}
