// Disk space that a store reserves, so that a checkpoint can run on a full disk.
//
// The reserve is a file of zeros. It is written so that the file system allocates its blocks, and never synced or read. When the disk is
// full, the file is removed, and a checkpoint uses its blocks. Then old log segments and emptied page files can be removed. The reserve is
// created again when there is space for it. Until then it is spent: only commits that free space are accepted, in short log segments; a
// checkpoint follows each commit; and the cleaner permits fewer dead bytes.

import HornbeamThreads

package final class SpaceReserve: Sendable {
    static let fileName = "reserve"

    private let directory: String
    private let fileSystem: any FileSystem
    private let bytes: Int
    /// The writer's lock of the store, if it has one.
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

    /// Creates the reserve if it does not exist and there may be space for it. A failure is not reported: the store works without a reserve.
    ///
    /// `isUrgent`: the disk is known to be full. If there is no space in this case, the reserve counts as spent; after another
    /// failure it does not.
    func prepare(isUrgent: Bool = false) {
        state.withLock { state in
            guard bytes > 0, state.presence == .absent || state.presence == .leftOver else { return }
            if isUrgent { state.pause = 0 }
            guard state.pause == 0 else { return state.pause -= 1 }
            guard isStorePresent else { return }
            // Removed before the free space is read, which then includes the blocks of this file.
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
                if isUrgent, error.code == .full { room.apply(.reserveSpent) }
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

    /// Removes the reserve, including one from before a crash, so that its space can be used. False if there is none.
    func release() -> Bool {
        state.withLock { state in
            guard state.presence == .present || state.presence == .leftOver, isStorePresent else { return false }
            let isGone = removeFile()
            state.presence = isGone ? .absent : .leftOver
            room.apply(.reserveSpent)
            assert(isSpent || state.presence != .present, "A released reserve is spent.")
            state.pause = 500
            return isGone
        }
    }

    /// False if the store's folder was removed or replaced: a reserve at its path may belong to another store.
    private var isStorePresent: Bool {
        do throws(EngineError) { try lock?.verify() } catch { return false }
        return true
    }

    /// False if the file could not be removed or does not exist.
    private func removeFile() -> Bool {
        do throws(EngineError) { try fileSystem.remove(path) } catch { return false }
        return true
    }

    /// Records whether the folder holds a reserve when the store is opened, or when another process has handed over the turn: that process may have
    /// created the reserve or released it, and this process then treats commits as that one did.
    func recordExistingFile(_ names: [String], isHandedOver: Bool = false) {
        let exists = names.contains(SpaceReserve.fileName)
        state.withLock { state in
            guard state.presence != .ended else { return }
            guard isHandedOver else {
                if exists { state.presence = .leftOver }
                return
            }
            state.presence = exists ? .present : .absent
            if exists { return room.apply(.reserveMade) }
            if bytes > 0, let free = fileSystem.availableBytes(directory), free < bytes { room.apply(.reserveSpent) }
        }
    }

    /// Called when the store is closed: no reserve is created afterwards. With `removes`, which a clean close passes, removes the reserve.
    func end(removes: Bool) {
        state.withLock { state in
            let mayExist = state.presence == .present || state.presence == .leftOver
            state.presence = .ended
            if removes, mayExist, isStorePresent { _ = removeFile() }
        }
    }
}
