// A file system that wraps another one, counts every call and makes chosen calls fail.

package import HornbeamEngine
internal import HornbeamThreads

/// Injects faults into the calls of another file system, and counts them.
package final class FaultInjector: FileSystem {
    private struct CountedRule {
        var rule: FaultRule
        var matched = 0
    }

    private struct Key: Hashable {
        var call: FileSystemCall
        var kind: PathKind
    }

    private struct State {
        var rules: [CountedRule] = []
        var counts: [Key: Int] = [:]
        var fired = 0
    }

    let inner: any FileSystem
    /// Guards rules and counts. It is not locked during calls of the inner file system.
    private let state = Guarded(State())

    private let firstFault: @Sendable () -> Void

    /// `firstFault` is called at the first injected fault, before the call fails.
    package init(_ inner: any FileSystem, firstFault: @escaping @Sendable () -> Void = {}) {
        self.inner = inner
        self.firstFault = firstFault
    }

    /// Adds a rule. It counts matching calls from now on.
    package func add(_ rule: FaultRule) { state.withLock { $0.rules.append(CountedRule(rule: rule)) } }

    /// Removes all rules, so that no more calls fail.
    package func removeRules() { state.withLock { $0.rules.removeAll() } }

    /// The number of injected faults.
    package var firedCount: Int { state.withLock { $0.fired } }

    /// The number of calls since the last reset; only of the given calls and the given kind of path, if there are any.
    package func count(of calls: Set<FileSystemCall> = [], kind: PathKind? = nil) -> Int {
        state.withLock { state in
            state.counts.reduce(0) { sum, entry in
                let isCounted = (calls.isEmpty || calls.contains(entry.key.call)) && (kind == nil || kind == entry.key.kind)
                return isCounted ? sum + entry.value : sum
            }
        }
    }

    /// Resets the counts of calls.
    package func resetCounts() { state.withLock { $0.counts.removeAll() } }

    /// Counts a call and returns its fault, if any.
    func effect(on call: FileSystemCall, _ path: String, _ site: SyncSite? = nil) -> FaultRule.Effect? {
        let kind = PathKind(path: path)
        let (effect, isFirst) = state.withLock { state in
            state.counts[Key(call: call, kind: kind), default: 0] += 1
            var effect: FaultRule.Effect?
            for index in state.rules.indices where state.rules[index].rule.matches(call, kind, site) {
                let armed = state.rules[index]
                state.rules[index].matched += 1
                let isDue = armed.rule.isSticky ? armed.matched >= armed.rule.after : armed.matched == armed.rule.after
                if isDue, effect == nil { effect = armed.rule.effect }
            }
            if effect != nil { state.fired += 1 }
            return (effect, effect != nil && state.fired == 1)
        }
        if isFirst { firstFault() }
        return effect
    }

    /// Throws if a rule has an effect on the call. Effects on bytes, such as `flip`, throw too.
    private func check(_ call: FileSystemCall, _ path: String) throws(EngineError) {
        guard let effect = effect(on: call, path) else { return }
        throw FaultInjector.error(effect, call, path)
    }

    static func error(_ effect: FaultRule.Effect, _ call: FileSystemCall, _ path: String) -> EngineError {
        let code: EngineError.Code =
            switch effect {
            case .fail(let code): code
            case .short: .full
            case .failSyncKeepingNew, .failSyncRevertingToOld, .lie, .flip: .inputOutput
            }
        return EngineError(code, "An injected fault in \(call.rawValue).", path: path)
    }

    package func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        try check(mode == .create ? .create : .open, path)
        return FaultyFile(try inner.open(path, mode), injector: self)
    }

    package func createDirectory(_ path: String) throws(EngineError) {
        try check(.createDirectory, path)
        try inner.createDirectory(path)
    }

    package func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        switch effect(on: .syncDirectory, path, site) {
        case nil: try inner.syncDirectory(path, site)
        case .lie?: return
        case let effect?: throw FaultInjector.error(effect, .syncDirectory, path)
        }
    }

    package func list(_ path: String) throws(EngineError) -> [String] {
        try check(.list, path)
        return try inner.list(path)
    }

    package func exists(_ path: String) throws(EngineError) -> Bool {
        try check(.exists, path)
        return try inner.exists(path)
    }

    package func rename(_ source: String, to target: String) throws(EngineError) {
        try check(.rename, source)
        try inner.rename(source, to: target)
    }

    package func remove(_ path: String) throws(EngineError) {
        try check(.remove, path)
        try inner.remove(path)
    }

    package func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock {
        try check(.lock, path)
        return try inner.lock(path, recordingHolderIn: holder)
    }

    package func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        try check(.lock, path)
        return try inner.share(path, recordingHolderIn: holder)
    }

    package func isLocked(_ path: String) throws(EngineError) -> Bool { try inner.isLocked(path) }

    package func availableBytes(_ path: String) -> Int? { inner.availableBytes(path) }
}

/// A file whose calls may fail.
final class FaultyFile: File {
    private let inner: any File
    private let injector: FaultInjector
    var path: String { inner.path }

    init(_ inner: any File, injector: FaultInjector) {
        self.inner = inner
        self.injector = injector
    }

    func size() throws(EngineError) -> UInt64 {
        if let effect = injector.effect(on: .size, path) { throw FaultInjector.error(effect, .size, path) }
        return try inner.size()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        switch injector.effect(on: .read, path) {
        case nil: return unsafe try inner.read(into: buffer, at: offset)
        case .short?: return unsafe try inner.read(into: buffer, at: offset) / 2
        case .flip?:
            let count = unsafe try inner.read(into: buffer, at: offset)
            if count > 0 { unsafe buffer[count / 2] ^= 0x10 }
            return count
        case let effect?: throw FaultInjector.error(effect, .read, path)
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        guard let effect = injector.effect(on: .write, path) else { return unsafe try inner.write(buffer, at: offset) }
        if case .short = effect { unsafe try inner.write(buffer.part(0..<buffer.count / 2), at: offset) }
        throw FaultInjector.error(effect, .write, path)
    }

    func sync(_ site: SyncSite) throws(EngineError) {
        guard let effect = injector.effect(on: .sync, path, site) else { return try inner.sync(site) }
        try fail(effect)
    }

    func beginWriting(at offset: UInt64, count: Int) throws(EngineError) {
        try inner.beginWriting(at: offset, count: count)
    }

    /// Has the faults of `sync`.
    func writeBack() throws(EngineError) {
        guard let effect = injector.effect(on: .sync, path) else { return try inner.writeBack() }
        try fail(effect)
    }

    private func fail(_ effect: FaultRule.Effect) throws(EngineError) {
        switch effect {
        case .lie: return
        case .failSyncRevertingToOld: (inner as? SimulatedFile)?.failSync(keepingNew: false)
        case .fail, .failSyncKeepingNew, .short, .flip: (inner as? SimulatedFile)?.failSync(keepingNew: true)
        }
        throw FaultInjector.error(effect, .sync, path)
    }

    func close() throws(EngineError) {
        if let effect = injector.effect(on: .close, path) { throw FaultInjector.error(effect, .close, path) }
        try inner.close()
    }
}
