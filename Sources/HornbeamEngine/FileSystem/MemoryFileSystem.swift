// Folders and files in memory, for stores that need not outlive their process. A sync does nothing. Names, errors and locks behave as on
// a disk.

internal import HornbeamThreads
internal import Synchronization

/// Folders and files in memory.
package final class MemoryFileSystem: FileSystem {
    /// The file or folder that a path names.
    private enum Entry {
        case file(MemoryFile.Content)
        case directory
    }

    private struct State {
        /// Files and folders by path, without empty and `.` components. The root has the empty path and no entry.
        var entries: [String: Entry] = [:]
        /// The locked files. A lock belongs to a file, not to a path.
        var locked: Set<ObjectIdentifier> = []
        var shared: [ObjectIdentifier: SharedMemoryLocks] = [:]

        func content(_ path: String) -> MemoryFile.Content? {
            guard case .file(let content)? = entries[path] else { return nil }
            return content
        }
    }

    /// Guards the names; each file guards its own bytes.
    private let state = Guarded(State())

    package init() {}

    /// An entry of the table of named file systems. It does not retain the file system.
    private struct Weak {
        weak var value: MemoryFileSystem?
    }
    private static let roots = Guarded<[String: Weak]>([:])

    /// The file system with this name in this process. The first call creates it; later calls share it as long as it is referenced.
    package static func named(_ name: String) -> MemoryFileSystem {
        roots.withLock { roots in
            if let present = roots[name]?.value { return present }
            let made = MemoryFileSystem()
            roots = roots.filter { $0.value.value != nil }
            roots[name] = Weak(value: made)
            return made
        }
    }

    /// The next `named` creates a new file system. Snapshots that read the present one keep it.
    package static func forget(_ name: String) { roots.withLock { $0[name] = nil } }

    package func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        let path = Self.normal(path)
        let content = try state.withLock { (state) throws(EngineError) -> MemoryFile.Content in
            switch (state.entries[path], mode) {
            case (.file(let content), .read), (.file(let content), .readWrite): return content
            case (nil, .create):
                try Self.checkParent(of: path, in: state)
                let content = MemoryFile.Content()
                state.entries[path] = .file(content)
                return content
            case (nil, _): throw Self.missing(path)
            case (_, .create): throw Self.exists(path)
            case (.directory, _): throw EngineError(.inputOutput, "A folder cannot be opened as a file.", path: path)
            }
        }
        return MemoryFile(path: path, content: content)
    }

    package func createDirectory(_ path: String) throws(EngineError) {
        let path = Self.normal(path)
        try state.withLock { (state) throws(EngineError) in
            guard state.entries[path] == nil, !Self.isRoot(path) else { throw Self.exists(path) }
            try Self.checkParent(of: path, in: state)
            state.entries[path] = .directory
        }
    }

    package func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        let path = Self.normal(path)
        try state.withLock { (state) throws(EngineError) in try Self.checkDirectory(path, in: state) }
    }

    package func list(_ path: String) throws(EngineError) -> [String] {
        let path = Self.normal(path)
        return try state.withLock { (state) throws(EngineError) in
            try Self.checkDirectory(path, in: state)
            return state.entries.keys.filter { Self.parent(ofPath: $0) == path }.map(lastComponent(ofPath:)).sorted()
        }
    }

    package func exists(_ path: String) throws(EngineError) -> Bool {
        let path = Self.normal(path)
        return state.withLock { Self.isRoot(path) || $0.entries[path] != nil }
    }

    package func rename(_ source: String, to target: String) throws(EngineError) {
        let (source, target) = (Self.normal(source), Self.normal(target))
        try state.withLock { (state) throws(EngineError) in
            guard let entry = state.entries[source] else { throw Self.missing(source) }
            try Self.checkParent(of: target, in: state)
            if case .directory? = state.entries[target] { throw Self.exists(target) }
            state.entries[source] = nil
            state.entries[target] = entry
            guard case .directory = entry else { return }
            for (path, inner) in state.entries where path.hasPrefix(source + "/") {
                state.entries[path] = nil
                state.entries[target + path.dropFirst(source.count)] = inner
            }
        }
    }

    package func remove(_ path: String) throws(EngineError) {
        let path = Self.normal(path)
        try state.withLock { (state) throws(EngineError) in
            guard let entry = state.entries[path] else { throw Self.missing(path) }
            if case .directory = entry, state.entries.keys.contains(where: { Self.parent(ofPath: $0) == path }) {
                throw EngineError(.inputOutput, "A folder that is not empty cannot be removed.", path: path)
            }
            state.entries[path] = nil
        }
    }

    package func isLocked(_ path: String) throws(EngineError) -> Bool {
        let path = Self.normal(path)
        return state.withLock { state in
            guard let content = state.content(path) else { return false }
            return state.locked.contains(ObjectIdentifier(content)) || state.shared[ObjectIdentifier(content)]?.isShared ?? false
        }
    }

    package func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock {
        let (path, holder) = (Self.normal(path), Self.normal(holder))
        let locked = try state.withLock { (state) throws(EngineError) -> MemoryFile.Content in
            guard let content = state.content(path) else { throw Self.missing(path) }
            guard state.shared[ObjectIdentifier(content)]?.isShared != true, state.locked.insert(ObjectIdentifier(content)).inserted else {
                throw Self.inUse(path)
            }
            if state.entries[holder] == nil { state.entries[holder] = .file(MemoryFile.Content()) }
            return content
        }
        return MemoryFileLock(
            path: path, isFilePresent: { [weak self] in self?.state.withLock { $0.content(path) } === locked },
            unlock: { [weak self] in _ = self?.state.withLock { $0.locked.remove(ObjectIdentifier(locked)) } })
    }

    package func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        let (path, holder) = (Self.normal(path), Self.normal(holder))
        let (content, locks) = try state.withLock { (state) throws(EngineError) -> (MemoryFile.Content, SharedMemoryLocks) in
            guard let content = state.content(path) else { throw Self.missing(path) }
            let file = ObjectIdentifier(content)
            if state.locked.contains(file) { throw Self.inUse(path) }
            if state.entries[holder] == nil { state.entries[holder] = .file(MemoryFile.Content()) }
            let locks = state.shared[file] ?? SharedMemoryLocks()
            state.shared[file] = locks
            return (content, locks)
        }
        return locks.join(path) { [weak self] in self?.state.withLock { $0.content(path) } === content }
    }

    private static func inUse(_ path: String) -> EngineError {
        EngineError(.storeInUse, "The store is open for writing in this process already. Use the open store, or close it.", path: path)
    }

    private static func normal(_ path: String) -> String {
        path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    private static func isRoot(_ path: String) -> Bool { path.isEmpty }

    private static func parent(ofPath path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    private static func checkDirectory(_ path: String, in state: State) throws(EngineError) {
        if isRoot(path) { return }
        guard case .directory? = state.entries[path] else { throw missing(path) }
    }

    private static func checkParent(of path: String, in state: State) throws(EngineError) {
        try checkDirectory(Self.parent(ofPath: path), in: state)
    }

    private static func missing(_ path: String) -> EngineError {
        EngineError(.notAStore, "There is no such file or folder in memory.", path: path)
    }

    private static func exists(_ path: String) -> EngineError {
        EngineError(.inputOutput, "The file or folder exists already in memory.", path: path)
    }
}

/// A lock that runs a closure when it is released.
package final class MemoryFileLock: FileLock {
    private let path: String
    /// Whether the path still names the locked file.
    private let isFilePresent: @Sendable () -> Bool
    private let unlock: @Sendable () -> Void
    private let isReleased = Atomic(false)

    package init(path: String, isFilePresent: @escaping @Sendable () -> Bool, unlock: @escaping @Sendable () -> Void) {
        self.path = path
        self.isFilePresent = isFilePresent
        self.unlock = unlock
    }

    deinit { release() }

    package func verify() throws(EngineError) {
        if !isFilePresent() { throw .storeGone(path) }
    }

    package func release() {
        if !isReleased.exchange(true, ordering: .relaxed) { unlock() }
    }
}
