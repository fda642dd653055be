internal import Foundation
package import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

// Copying, replacing and removing the folder of a store.

extension Store {
    /// A reference to a copy of a store. A copy in memory exists while this value exists.
    package struct Copy: Sendable {
        private let memory: MemoryLocation?

        fileprivate init(_ memory: MemoryLocation?) { self.memory = memory }
    }

    /// Copies the store with its identity to an empty location. The copy contains all saves that ended before the call.
    ///
    /// The result must exist until the copy is open. Saves made during the call may be missing from the copy.
    /// - Throws: `notAStore` when the target exists; `full`, `inputOutput`.
    package func copy(to target: Location, progress: ProgressReport? = nil) throws -> Copy {
        let memory = MemoryLocation(target)
        let fileSystem: any FileSystem = memory?.fileSystem ?? PosixFileSystem()
        try EngineError.translated { () throws(EngineError) in
            _ = try engine.backup(to: target.path, in: fileSystem, progress: progress)
        }
        return Copy(memory)
    }

    /// Runs the body while no thread of any process saves into the store or reserves keys for new objects.
    package func withoutSaves<Result>(_ body: () throws -> Result) throws -> Result {
        if isReadOnly { return try body() }
        try EngineError.translated { () throws(EngineError) in try engine.holdTurn() }
        defer { engine.releaseTurn() }
        try joint.hold(for: location)
        defer { joint.release() }
        // Waits for the saves that have begun, because the writer's turn is granted in order.
        try EngineError.translated { () throws(EngineError) in try engine.begin().abort() }
        return try keys.withLock { _ in try body() }
    }

    /// Runs the body with the path of a store on disk that no process has open. The path may have no store.
    ///
    /// - Throws: `storeInUse`; `notAStore` for a file, and for a folder with other files; `inputOutput`.
    package static func withUnusedFolder<Result>(_ location: Location, _ body: (String) throws -> Result) throws -> Result {
        let path = location.path
        let inUse = inUse(path)
        if isLeased(location) { throw inUse }
        let isLocked = try EngineError.translated { () throws(EngineError) -> Bool in
            let system = PosixFileSystem()
            guard try system.exists(path + "/meta") else {
                try requireNoOtherFiles(path, system)
                return false
            }
            return try system.isLocked(path + "/meta")
        }
        if isLocked { throw inUse }
        return try body(path)
    }

    /// Allows a missing or empty folder, and one that an interrupted removal of a store left.
    private static func requireNoOtherFiles(_ path: String, _ system: PosixFileSystem) throws(EngineError) {
        guard try system.exists(path), try !system.list(path).allSatisfy(isFileOfStore) else { return }
        throw EngineError(.notAStore, "There are other files at this path, and no store. They were not removed. Check the path.", path: path)
    }

    private static func isFileOfStore(_ name: String) -> Bool {
        ["lock", "reserve", "section-caches"].contains(name) || name.hasPrefix("spare") || PageFileNumber(fileName: name) != nil
            || LogSegmentNumber(fileName: name) != nil
    }

    /// The next opening of a store in memory makes an empty one, also while contexts still read the present one.
    ///
    /// - Throws: `storeInUse` if the store is open.
    package static func forgetMemory(_ location: Location) throws {
        guard case .memory(let name) = location else { return }
        if isLeased(location) { throw inUse(location.path) }
        MemoryFileSystem.forget(name)
    }

    /// Deletes the rows of a custom store.
    ///
    /// - Throws: `storeInUse` if the store is open; the errors of the custom store.
    package static func destroy(_ custom: any CustomStore) throws {
        let location = Location(custom)
        if isLeased(location) { throw inUse(location.path) }
        try custom.destroy()
    }

    private static func inUse(_ path: String) -> HornbeamError {
        HornbeamError(.storeInUse, "The store “\(path)” is open. Remove it from its coordinators, here or in another process, and try again.")
    }
}

extension Store.Location {
    /// The name under which the cached rows of a custom store are open.
    init(_ custom: any CustomStore) { self = .memory(name: "custom " + custom.identifier.uuidString) }

    /// The path of the store's folder.
    var path: String {
        switch self {
        case .directory(let path): path
        case .memory: "memory.hornbeam"
        }
    }
}
