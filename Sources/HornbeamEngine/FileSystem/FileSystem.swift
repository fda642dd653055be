// The edge of the system: everything the engine asks of an operating system, as a protocol, so that a simulated
// disk and a fault injector can take its place. Called once per I/O, never per key.

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
    /// Renames a file or a folder, replacing a file of the target's name.
    func rename(_ source: String, to target: String) throws(EngineError)
    /// Removes a file or an empty folder; open files stay readable.
    func remove(_ path: String) throws(EngineError)
    /// The same for a file that may be large: its room is given back a piece at a time, with rests, while `mayRest` says so.
    func remove(_ path: String, mayRest: () -> Bool) throws(EngineError)
    /// Takes the exclusive lock of a file, and notes this process in another, which is created if missing. Throws
    /// `storeInUse` when another holds the lock, `notAStore` when there is no file to lock.
    func lock(_ path: String, noting holder: String) throws(EngineError) -> any FileLock
    /// Whether somebody holds the lock of a file; false when the file is missing.
    func isLocked(_ path: String) throws(EngineError) -> Bool
    /// What kind of network file system a path lies on; nil for a local one, and for a path that does not exist.
    func networkFileSystem(of path: String) -> String?
    /// Bytes that can still be written where a folder or file lies; nil if that is not known.
    func availableBytes(_ path: String) -> Int?
}

extension FileSystem {
    package func networkFileSystem(of path: String) -> String? { nil }
    package func availableBytes(_ path: String) -> Int? { nil }
    package func remove(_ path: String, mayRest: () -> Bool) throws(EngineError) { try remove(path) }

    /// Throws `notAStore` if there is something at a path that is no folder.
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
    /// Nothing, where there is no device that could begin.
    package func beginWriting(at offset: UInt64, count: Int) throws(EngineError) {}
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
    /// Has the device write what was written so far, ahead of a sync, which then takes less long. Makes nothing durable: the
    /// device may hold it in a cache, and the file may still have its old length there. An error counts as that of a sync: the
    /// system tells of a write that failed once, and the sync that follows would not be told.
    func writeBack() throws(EngineError)
    /// Lets the device begin to write bytes that were just written; waits only for room in its queue. A sync makes them durable.
    func beginWriting(at offset: UInt64, count: Int) throws(EngineError)
    func close() throws(EngineError)
}

/// A lock that lasts until it is released or its holder dies.
package protocol FileLock: AnyObject, Sendable {
    /// Throws `durabilityLost` unless the path that was locked still leads to the file that was locked, and `closed` in a child that was
    /// forked since.
    func verify() throws(EngineError)
    func release()
}

extension EngineError {
    /// The files of an open store are gone, or others are in their place.
    static func storeGone(_ path: String) -> EngineError {
        EngineError(
            .durabilityLost,
            "The store is gone: its folder, or the file \(lastComponent(ofPath: path)) in it, was removed, moved or replaced while the "
                + "store was open. Nothing was saved, and nothing more can be. Close the store, and open it again where its folder is now.",
            path: path)
    }
}
