import HornbeamThreads

@testable import HornbeamEngine

/// A disk of a fixed size: files in memory, and the error `full` when they exceed the size.
final class TightDisk: FileSystem {
    private let inner = MemoryFileSystem()
    fileprivate struct State {
        var sizes: [String: Int] = [:]
        var capacity: Int
        var refusals = 0

        var used: Int { sizes.values.reduce(0, +) }
    }
    fileprivate let state: Guarded<State>

    init(capacity: Int) { state = Guarded(State(capacity: capacity)) }

    var used: Int { state.withLock { $0.used } }
    var refusals: Int { state.withLock { $0.refusals } }
    var capacity: Int {
        get { state.withLock { $0.capacity } }
        set { state.withLock { $0.capacity = newValue } }
    }

    func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        let file = try inner.open(path, mode)
        if mode == .create { state.withLock { $0.sizes[path] = 0 } }
        return TightFile(inner: file, path: path, disk: self)
    }

    func createDirectory(_ path: String) throws(EngineError) { try inner.createDirectory(path) }
    func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) { try inner.syncDirectory(path, site) }
    func list(_ path: String) throws(EngineError) -> [String] { try inner.list(path) }
    func exists(_ path: String) throws(EngineError) -> Bool { try inner.exists(path) }
    func availableBytes(_ path: String) -> Int? { state.withLock { $0.capacity - $0.used } }
    func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock { try inner.lock(path, recordingHolderIn: holder) }
    func isLocked(_ path: String) throws(EngineError) -> Bool { try inner.isLocked(path) }
    func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        try inner.share(path, recordingHolderIn: holder)
    }

    func rename(_ source: String, to target: String) throws(EngineError) {
        try inner.rename(source, to: target)
        state.withLock { state in
            for (path, size) in state.sizes where path == source || path.hasPrefix(source + "/") {
                state.sizes[path] = nil
                state.sizes[target + path.dropFirst(source.count)] = size
            }
        }
    }

    func remove(_ path: String) throws(EngineError) {
        try inner.remove(path)
        state.withLock { $0.sizes[path] = nil }
    }

    /// Throws when a file's growth to a size does not fit.
    fileprivate func grow(_ path: String, to size: Int) throws(EngineError) {
        let fits = state.withLock { state in
            let growth = size - (state.sizes[path] ?? 0)
            guard growth > 0 else { return true }
            guard state.used + growth <= state.capacity else {
                state.refusals += 1
                return false
            }
            // A file that was removed or renamed while it is open uses no space under its old name.
            if state.sizes[path] != nil { state.sizes[path] = size }
            return true
        }
        guard fits else { throw .system(28, doing: "writing", path: path) }
    }
}

private final class TightFile: File {
    private let inner: any File
    private let disk: TightDisk
    let path: String

    init(inner: any File, path: String, disk: TightDisk) {
        self.inner = inner
        self.path = path
        self.disk = disk
    }

    func size() throws(EngineError) -> UInt64 { try inner.size() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        try inner.read(into: buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        try disk.grow(path, to: Int(offset) + buffer.count)
        try inner.write(buffer, at: offset)
    }
    func sync(_ site: SyncSite) throws(EngineError) { try inner.sync(site) }
    func writeBack() throws(EngineError) { try inner.writeBack() }
    func close() throws(EngineError) { try inner.close() }
}
