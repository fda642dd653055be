// The calls of the protocol `FileSystem` on a simulated disk.

package import HornbeamEngine
internal import HornbeamThreads

extension SimulatedDisk {
    package func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        let node = try state.withLock { (state) throws(EngineError) in
            let present = state.live.node(at: path)
            guard mode == .create else {
                guard let present, state.live.content(of: present) != nil else { throw Self.missing(path) }
                return present
            }
            guard present == nil else { throw Self.exists(path) }
            return try Self.create(path, isDirectory: false, &state)
        }
        return SimulatedFile(path: path, node: node, disk: self)
    }

    package func createDirectory(_ path: String) throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in
            guard state.live.node(at: path) == nil else { throw Self.exists(path) }
            _ = try Self.create(path, isDirectory: true, &state)
        }
    }

    package func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in
            state.perform(.syncDirectory(try Self.directory(path, state)))
        }
    }

    package func list(_ path: String) throws(EngineError) -> [String] {
        try state.withLock { (state) throws(EngineError) in
            let directory = try Self.directory(path, state)
            return (state.live.entries(of: directory) ?? [:]).keys.sorted()
        }
    }

    package func exists(_ path: String) throws(EngineError) -> Bool {
        state.withLock { $0.live.node(at: path) != nil }
    }

    package func rename(_ source: String, to target: String) throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in
            guard let node = state.live.node(at: source) else { throw Self.missing(source) }
            if let old = state.live.node(at: target), state.live.entries(of: old)?.isEmpty == false {
                throw Self.exists(target)
            }
            let from = try Self.directory(parent(ofPath: source), state)
            let to = try Self.directory(parent(ofPath: target), state)
            state.journal.names[node] = target
            state.perform(
                .change(
                    .move(
                        from: from, source: lastComponent(ofPath: source), to: to, target: lastComponent(ofPath: target),
                        node: node)))
        }
    }

    package func remove(_ path: String) throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in
            guard let node = state.live.node(at: path) else { throw Self.missing(path) }
            guard state.live.entries(of: node)?.isEmpty ?? true else {
                throw EngineError(.inputOutput, "A folder that is not empty cannot be removed.", path: path)
            }
            let directory = try Self.directory(parent(ofPath: path), state)
            state.perform(.change(.remove(directory: directory, name: lastComponent(ofPath: path), node: node)))
        }
    }

    package func availableBytes(_ path: String) -> Int? {
        state.withLock { state in state.capacity.map { max($0 - state.live.used, 0) } }
    }

    package func isLocked(_ path: String) throws(EngineError) -> Bool {
        state.withLock { state in
            guard let node = state.live.node(at: path) else { return false }
            return state.locked.contains(node) || state.shared[node]?.isShared ?? false
        }
    }

    package func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock {
        let node = try state.withLock { (state) throws(EngineError) in
            guard let node = state.live.node(at: path) else { throw Self.missing(path) }
            guard state.shared[node]?.isShared != true, state.locked.insert(node).inserted else { throw Self.inUse(path) }
            if state.live.node(at: holder) == nil { _ = try Self.create(holder, isDirectory: false, &state) }
            return node
        }
        return MemoryFileLock(
            path: path, isFilePresent: { [weak self] in self?.state.withLock { $0.live.node(at: path) == node } ?? false },
            unlock: { [weak self] in _ = self?.state.withLock { $0.locked.remove(node) } })
    }

    package func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        let (node, locks) = try state.withLock { (state) throws(EngineError) in
            guard let node = state.live.node(at: path) else { throw Self.missing(path) }
            if state.locked.contains(node) { throw Self.inUse(path) }
            if state.live.node(at: holder) == nil { _ = try Self.create(holder, isDirectory: false, &state) }
            let locks = state.shared[node] ?? SharedMemoryLocks()
            state.shared[node] = locks
            return (node, locks)
        }
        return locks.join(path) { [weak self] in self?.state.withLock { $0.live.node(at: path) == node } ?? false }
    }

    private static func inUse(_ path: String) -> EngineError {
        EngineError(.storeInUse, "The store is open for writing in this process already. Use the open store, or close it.", path: path)
    }

    private static func create(_ path: String, isDirectory: Bool, _ state: inout State) throws(EngineError) -> Int {
        let directory = try directory(parent(ofPath: path), state)
        let node = state.nextNode
        state.nextNode += 1
        state.journal.names[node] = path
        let change = DiskState.EntryChange.add(directory: directory, name: lastComponent(ofPath: path), node: node)
        state.perform(.create(change, node: node, isDirectory: isDirectory))
        return node
    }

    private static func directory(_ path: String, _ state: State) throws(EngineError) -> Int {
        guard let node = state.live.node(at: path), state.live.entries(of: node) != nil else { throw missing(path) }
        return node
    }

    private static func missing(_ path: String) -> EngineError {
        EngineError(.notAStore, "There is no such file or folder on the simulated disk.", path: path)
    }

    private static func exists(_ path: String) -> EngineError {
        EngineError(.inputOutput, "The file or folder exists already on the simulated disk.", path: path)
    }
}

extension SimulatedDisk.State {
    /// The number of bytes of a write that fit on the disk.
    func bytesThatFit(_ count: Int, in node: DiskState.NodeID, at offset: Int) -> Int {
        guard let capacity else { return count }
        let size = live.content(of: node)?.count ?? 0
        let allocated = (size + CrashModel.blockBytes - 1) / CrashModel.blockBytes * CrashModel.blockBytes
        let free = max(capacity - live.used, 0) / CrashModel.blockBytes * CrashModel.blockBytes
        return max(0, min(count, allocated + free - offset))
    }

    /// The content of a file at its last sync.
    func syncedContent(of node: DiskState.NodeID) -> [UInt8] {
        synced[node] ?? journal.base.content(of: node) ?? []
    }

    /// Records an operation and applies it to the visible state.
    mutating func perform(_ operation: SimulatedDisk.Operation) {
        journal.operations.append(operation)
        switch operation {
        case .create(let change, let node, let isDirectory):
            live.insert(node, isDirectory: isDirectory)
            live.apply(change)
        case .change(let change): live.apply(change)
        case .write(let node, let offset, let bytes): live.write(bytes[...], to: node, at: offset)
        case .sync(let node): synced[node] = live.content(of: node)
        case .syncDirectory, .failedSync: break
        }
    }
}

/// An open file of a simulated disk.
final class SimulatedFile: File {
    let path: String
    private let node: DiskState.NodeID
    private let disk: SimulatedDisk

    init(path: String, node: DiskState.NodeID, disk: SimulatedDisk) {
        self.path = path
        self.node = node
        self.disk = disk
    }

    func size() throws(EngineError) -> UInt64 {
        disk.state.withLock { UInt64($0.live.content(of: node)?.count ?? 0) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        let (content, unreadable) = disk.state.withLock { ($0.live.content(of: node) ?? [], $0.unreadable[path] ?? []) }
        guard offset < UInt64(content.count) else { return 0 }
        let count = min(buffer.count, content.count - Int(offset))
        guard !unreadable.contains(where: { Int(offset) <= $0 && $0 < Int(offset) + count }) else {
            throw EngineError(.inputOutput, "A byte of the simulated disk cannot be read.", path: path)
        }
        unsafe content.withBytes { bytes in
            unsafe buffer.part(0..<count).copyMemory(from: bytes.part(Int(offset)..<Int(offset) + count))
        }
        return count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        let bytes = unsafe [UInt8](buffer)
        try disk.state.withLock { (state) throws(EngineError) in
            let fitting = state.bytesThatFit(bytes.count, in: node, at: Int(offset))
            if fitting > 0 { state.perform(.write(node, offset: Int(offset), Array(bytes.prefix(fitting)))) }
            guard fitting == bytes.count else { throw EngineError(.full, "The simulated disk is full.", path: path) }
        }
    }

    func sync(_ site: SyncSite) throws(EngineError) {
        disk.state.withLock { $0.perform(.sync(node)) }
    }

    func writeBack() throws(EngineError) {}

    func close() throws(EngineError) {}

    /// Applies a failed sync: the file then reads as the new bytes, or as those of the last sync. In both cases, no later sync makes the new
    /// bytes durable.
    func failSync(keepingNew: Bool) {
        disk.state.withLock { state in
            state.perform(.failedSync(node))
            if !keepingNew { state.live.replaceContent(of: node, with: state.syncedContent(of: node)) }
        }
    }
}
