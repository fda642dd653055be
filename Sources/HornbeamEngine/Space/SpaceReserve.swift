// Disk space that a store reserves, so that it can free space on a full disk.
//
// The reserve is a file of zeros, written but not synced: its content is unused, and the file system has allocated its blocks. When a
// checkpoint finds the disk full, the file is removed and the checkpoint uses its blocks. Then old log segments and emptied page files
// can be removed. The reserve is created again when there is space for it. Until then it is spent: only commits that free space are
// accepted, in short log segments, a checkpoint follows each commit, and the cleaner tolerates fewer dead bytes.

import HornbeamThreads

package final class SpaceReserve: Sendable {
    static let fileName = "reserve"

    private let directory: String
    private let fileSystem: any FileSystem
    private let bytes: Int
    /// The writer's lock of the store; nil in a reader.
    private let lock: (any FileLock)?
    private let state = Guarded(State())

    /// Whether its releases made the store accept only commits that free space.
    let room: DiskRoom

    private enum Presence {
        case absent, present
        /// There may be a useless one: a crash left it, or it could not be removed.
        case leftOver
        /// The store is closed: none is created any more.
        case ended
    }

    private struct State {
        var presence = Presence.absent
        /// Calls to skip before the next attempt, after an attempt found no space.
        var pause = 0
    }

    init(directory: String, fileSystem: any FileSystem, bytes: Int, lock: (any FileLock)? = nil, room: DiskRoom = DiskRoom()) {
        self.room = room
        self.directory = directory
        self.fileSystem = fileSystem
        self.bytes = bytes
        self.lock = lock
    }

    private var path: String { join(directory, SpaceReserve.fileName) }

    /// True while the reserve is released: until it exists again, only commits that free space are accepted.
    var isSpent: Bool { room.state.acceptsOnlyFreeing }

    /// Lays the reserve in, if it is not there and there may be room for it. It can do without; nothing is reported.
    ///
    /// `isUrgent`: the disk is known to be full. If there is no room then, the reserve counts as spent.
    func prepare(isUrgent: Bool = false) {
        state.withLock { state in
            guard bytes > 0, state.presence == .absent || state.presence == .leftOver else { return }
            if isUrgent { state.pause = 0 }
            guard state.pause == 0 else { return state.pause -= 1 }
            guard isStoreThere else { return }
            // Its blocks count as free.
            if state.presence == .leftOver, removeFile() { state.presence = .absent }
            do throws(EngineError) {
                if let room = fileSystem.availableBytes(directory), room < bytes {
                    throw EngineError(.full, "There is no room for the reserve.")
                }
                try write()
                state.presence = .present
                assert(state.pause == 0, "A reserve is created after the pause.")
                room.apply(.reserveMade)
            } catch {
                state.presence = removeFile() ? .absent : .leftOver
                if isUrgent { room.apply(.reserveSpent) }
                state.pause = 500
            }
        }
    }

    private func write() throws(EngineError) {
        if try fileSystem.exists(path) { try fileSystem.remove(path) }
        let file = try fileSystem.open(path, .create)
        assert(bytes > 0, "A reserve takes room.")
        let zeros = [UInt8](repeating: 0, count: min(bytes, 1 << 18))
        for start in stride(from: 0, to: bytes, by: zeros.count) {
            unsafe try zeros.withBytes { (buffer) throws(EngineError) in
                try unsafe file.write(buffer.part(0..<min(zeros.count, bytes - start)), at: UInt64(start))
            }
        }
    }

    /// Gives the room away, that of a reserve too which a crash left; false if there is none.
    func release() -> Bool {
        state.withLock { state in
            guard state.presence == .present || state.presence == .leftOver, isStoreThere else { return false }
            let isGone = removeFile()
            state.presence = isGone ? .absent : .leftOver
            room.apply(.reserveSpent)
            assert(isSpent || state.presence != .present, "A released reserve is spent.")
            state.pause = 500
            return isGone
        }
    }

    /// False where other files are in the place of the store's: they have a reserve of their own.
    private var isStoreThere: Bool {
        do throws(EngineError) { try lock?.verify() } catch { return false }
        return true
    }

    /// False if the file could not be removed; one that is not there cannot.
    private func removeFile() -> Bool {
        do throws(EngineError) { try fileSystem.remove(path) } catch { return false }
        return true
    }

    /// Records whether the folder held a reserve when the store was opened.
    func note(_ names: [String]) {
        let isLeftOver = names.contains(SpaceReserve.fileName)
        if isLeftOver { state.withLock { $0.presence = .leftOver } }
    }

    /// The store is being closed: none is laid in any more. Stores that were closed cleanly have none.
    func end(removes: Bool) {
        state.withLock { state in
            let mayExist = state.presence == .present || state.presence == .leftOver
            state.presence = .ended
            if removes, mayExist, isStoreThere { _ = removeFile() }
        }
    }
}
