// The operations that the engine needs of an operating system, as a protocol. A simulated disk and a fault injector implement it too.
// The engine calls it once for each I/O, never for each key.

/// A folder tree with durable files.
package protocol FileSystem: Sendable {
    /// Opens or creates a file for reading and writing at offsets.
    func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File
    /// Creates one folder; its parent must exist.
    func createDirectory(_ path: String) throws(EngineError)
    /// Makes created, renamed and removed entries of a folder durable.
    func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError)
    /// The names in a folder, sorted; throws `notAStore` if it is not there.
    func list(_ path: String) throws(EngineError) -> [String]
    func exists(_ path: String) throws(EngineError) -> Bool
    /// Renames a file or a folder. Replaces a file that already has the target's name.
    func rename(_ source: String, to target: String) throws(EngineError)
    /// Removes a file or an empty folder; open files stay readable.
    func remove(_ path: String) throws(EngineError)
    /// Removes a file that may be large. While `mayThrottle` returns true, releases its blocks in pieces, with pauses.
    func remove(_ path: String, mayThrottle: () -> Bool) throws(EngineError)
    /// Takes the exclusive lock of a file and records this process in another file, which is created if it is missing. Throws
    /// `storeInUse` when another process or engine holds the lock, `notAStore` when there is no file to lock.
    func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock
    /// Joins the processes and engines that write to a store in turns, and records each holder of the turn in another file. Throws `storeInUse`
    /// when one holds the exclusive lock of `lock`, `notAStore` when there is no file to lock.
    func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock
    /// Whether a process or engine holds the lock of a file, exclusive or shared; false when the file is missing.
    func isLocked(_ path: String) throws(EngineError) -> Bool
    /// The kind of network file system that holds a path; nil for a local one, and for a path that does not exist.
    func networkFileSystem(of path: String) -> String?
    /// Bytes that can still be written to the file system of a path; nil if that is unknown.
    func availableBytes(_ path: String) -> Int?
}

extension FileSystem {
    package func networkFileSystem(of path: String) -> String? { nil }
    package func availableBytes(_ path: String) -> Int? { nil }
    package func remove(_ path: String, mayThrottle: () -> Bool) throws(EngineError) { try remove(path) }

    /// Throws `notAStore` if a path names something other than a folder.
    func requireFolderOrNothing(_ path: String) throws(EngineError) {
        guard try exists(path) else { return }
        do throws(EngineError) { _ = try list(path) } catch {
            guard error.code == .notAStore else { throw error }
            throw EngineError(
                .notAStore, "There is a file at this path, and a store is a folder. Choose another path.", path: path, errno: error.errno)
        }
    }

    /// The names in a folder, unless the caller knows them already.
    func list(_ path: String, known: [String]?) throws(EngineError) -> [String] {
        if let known { return known }
        return try list(path)
    }
}

extension File {
    /// The default does nothing: files without a device need no early write.
    package func beginWriting(at offset: UInt64, count: Int) throws(EngineError) {}

    /// The default does nothing: files without a device are read fast.
    package func readAhead(at offset: UInt64, count: Int) {}

    /// The default does nothing: files without a device are in no page cache.
    package func removeFromCache(at offset: UInt64, count: Int) {}
}

package enum FileMode: Sendable {
    /// Throws `notAStore` if the file is missing.
    case read
    /// Throws `notAStore` if the file is missing.
    case readWrite
    /// For reading and writing; throws if the file exists.
    case create
}

/// An open file. Reads and writes at explicit offsets, from any thread; closed when released.
package protocol File: AnyObject, Sendable {
    var path: String { get }
    func size() throws(EngineError) -> UInt64
    /// Fills the buffer or stops at the end of the file; returns the bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int
    /// Writes the whole buffer, looping over short and interrupted calls.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError)
    /// Makes written bytes and the length durable (fdatasync).
    func sync(_ site: SyncSite) throws(EngineError)
    /// Sends all written bytes to the device and waits, so that a later sync takes less time. Makes nothing durable: the bytes may be in
    /// the device's cache, and the file may still have its old length. The caller treats an error like a failed sync, since the system
    /// reports a failed write only once, and a later sync would succeed.
    func writeBack() throws(EngineError)
    /// Starts to send bytes that were just written to the device. Waits only while the device's queue is full. A later sync makes the
    /// bytes durable.
    func beginWriting(at offset: UInt64, count: Int) throws(EngineError)
    /// Asks the system to read bytes ahead that will be read soon. Does not wait for them.
    func readAhead(at offset: UInt64, count: Int)
    /// Asks the system to remove the blocks with these bytes from its page cache, except those that are not written yet.
    func removeFromCache(at offset: UInt64, count: Int)
    func close() throws(EngineError)
}

/// A lock that lasts until it is released or its holder dies.
package protocol FileLock: AnyObject, Sendable {
    /// Throws `durabilityLost` unless the locked path still names the locked file, and `closed` in a child process that was forked after
    /// locking.
    func verify() throws(EngineError)
    func release()
}

/// The lock of a file that several engines share, usually in several processes. One of them at a time has the turn. The turn, a request
/// for it and the place among the sharers end with the process.
package protocol SharedFileLock: FileLock {
    /// True if another engine shares the file now.
    func isSharedWithOthers() throws(EngineError) -> Bool
    /// True if an engine that shares the file now has called `recordRecovered`. Then the store was recovered after the last power failure.
    func isRecovered() throws(EngineError) -> Bool
    /// Records that this engine has had the turn and knows the end of the log.
    func recordRecovered() throws(EngineError)
    /// Takes the turn if no other engine has it or waits for it.
    func tryTakeTurn() throws(EngineError) -> Bool
    /// Waits for the turn, behind those that have waited longer. Notifies the holder. Throws `closed` when the lock was released.
    func takeTurn() throws(EngineError)
    func releaseTurn()
    /// True if another engine waits for the turn.
    func isTurnRequested() throws(EngineError) -> Bool
    /// Returns when another engine may wait for the turn, or after `endWait`. May return earlier. Only the holder of the turn calls it.
    func waitForRequest()
    /// Begins to watch for commits of other engines. A commit after the call ends the next `waitForCommit`.
    func watchCommits()
    /// Returns when another engine may have committed, or after `wake` or `endWait`. May return earlier. Only an engine without the turn calls
    /// it. Locks in memory do not notify of commits.
    func waitForCommit()
    /// Returns after a time, or after `wake` or `endWait`.
    func pause(milliseconds: Int32)
    /// Ends the current `waitForCommit` or `pause`, or the next one.
    func wake()
    /// Ends the current and all later waits.
    func endWait()
    /// Records for `hornbeam info` how far this engine has read the log, and since when its oldest snapshot is not the newest state
    /// (in nanoseconds of the monotonic clock; nil if there is none). Locks in memory record nothing.
    func recordProgress(_ position: UInt64, oldestSnapshot: UInt64?)
    /// The holder of the turn, as the subject of an error message.
    var holderName: String { get }
}

extension EngineError {
    /// The files of an open store were removed or replaced.
    static func storeGone(_ path: String) -> EngineError {
        EngineError(
            .durabilityLost,
            "The store is gone: its folder, or the file \(lastComponent(ofPath: path)) in it, was removed, moved or replaced while the "
                + "store was open. Nothing was saved, and later saves fail too. Close the store, and open it again at the new path of its folder.",
            path: path)
    }
}
