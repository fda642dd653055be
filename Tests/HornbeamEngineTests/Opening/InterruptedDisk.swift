import HornbeamThreads

@testable import HornbeamEngine

/// A file system that runs a closure before a given call, as if another process acted at this moment.
final class InterruptedDisk: FileSystem {
    private struct State {
        var calls = 0
        var at: Int
        var times: Int
        var work: (@Sendable () -> Void)?
        /// True to count the calls that change something too.
        var countsAll = false
    }

    private let inner: any FileSystem
    private let state: Guarded<State>
    private let whenWritingBegins: @Sendable () -> Void
    private let whenReadAhead: @Sendable () -> Void

    /// Runs a closure each time the device is asked to start writing.
    init(_ inner: any FileSystem, whenWritingBegins: @escaping @Sendable () -> Void) {
        self.inner = inner
        self.whenWritingBegins = whenWritingBegins
        whenReadAhead = {}
        state = Guarded(State(at: .max, times: 0, work: nil))
    }

    /// Does the work before the call of that number, counted from zero, and so many that follow. Runs a closure each time bytes are to be read ahead.
    init(
        _ inner: any FileSystem, at call: Int, times: Int = 1, whenReadAhead: @escaping @Sendable () -> Void = {},
        _ work: @escaping @Sendable () -> Void
    ) {
        self.inner = inner
        whenWritingBegins = {}
        self.whenReadAhead = whenReadAhead
        state = Guarded(State(at: call, times: times, work: work))
    }

    /// Does the work once, before the call of that number from now on, calls of all kinds counted.
    func interrupt(at call: Int, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0 = State(at: call, times: 1, work: work, countsAll: true) }
    }

    var calls: Int { state.withLock { $0.calls } }
    /// Whether there were as many calls.
    var wasInterrupted: Bool { state.withLock { $0.calls > $0.at } }

    fileprivate func beginWriting() { whenWritingBegins() }
    fileprivate func readAhead() { whenReadAhead() }

    fileprivate func call() {
        let work = state.withLock { state in
            defer { state.calls += 1 }
            return state.calls >= state.at && state.calls - state.at < state.times ? state.work : nil
        }
        work?()
    }

    fileprivate func otherCall() {
        if state.withLock(\.countsAll) { call() }
    }

    func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        call()
        return InterruptedFile(inner: try inner.open(path, mode), disk: self)
    }

    func list(_ path: String) throws(EngineError) -> [String] {
        call()
        return try inner.list(path)
    }

    func isLocked(_ path: String) throws(EngineError) -> Bool {
        call()
        return try inner.isLocked(path)
    }

    func exists(_ path: String) throws(EngineError) -> Bool {
        otherCall()
        return try inner.exists(path)
    }

    func createDirectory(_ path: String) throws(EngineError) {
        otherCall()
        try inner.createDirectory(path)
    }

    func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        otherCall()
        try inner.syncDirectory(path, site)
    }

    func rename(_ source: String, to target: String) throws(EngineError) {
        otherCall()
        try inner.rename(source, to: target)
    }

    func remove(_ path: String) throws(EngineError) {
        otherCall()
        try inner.remove(path)
    }

    func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock {
        otherCall()
        return try inner.lock(path, recordingHolderIn: holder)
    }

    func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        otherCall()
        return try inner.share(path, recordingHolderIn: holder)
    }
}

private final class InterruptedFile: File {
    private let inner: any File
    private let disk: InterruptedDisk
    var path: String { inner.path }

    init(inner: any File, disk: InterruptedDisk) {
        self.inner = inner
        self.disk = disk
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        disk.call()
        return try inner.read(into: buffer, at: offset)
    }

    func beginWriting(at offset: UInt64, count: Int) throws(EngineError) { disk.beginWriting() }
    func readAhead(at offset: UInt64, count: Int) { disk.readAhead() }

    func size() throws(EngineError) -> UInt64 { try inner.size() }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        disk.otherCall()
        try inner.write(buffer, at: offset)
    }

    func sync(_ site: SyncSite) throws(EngineError) {
        disk.otherCall()
        try inner.sync(site)
    }

    func writeBack() throws(EngineError) { try inner.writeBack() }
    func close() throws(EngineError) { try inner.close() }
}
