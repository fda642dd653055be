internal import Foundation
package import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

// Stores as folders of files: copied, put in another's place, removed.

extension Store {
    /// A copy of a store, kept in memory where it is there that it was made.
    package struct Copy: Sendable {
        private let memory: MemoryLocation?

        fileprivate init(_ memory: MemoryLocation?) { self.memory = memory }
    }

    /// Copies the store, identity and all, to a place where there is nothing; what was saved before the call is in it.
    ///
    /// The result is to be held until the copy is open. Others may save meanwhile, which the copy does not show.
    /// - Throws: `notAStore` when there is something at the place; `full`, `inputOutput`.
    package func copy(to target: Location, progress: ProgressReport? = nil) throws -> Copy {
        let memory = MemoryLocation(target)
        let fileSystem: any FileSystem = memory?.fileSystem ?? PosixFileSystem()
        try EngineError.translated { () throws(EngineError) in
            _ = try engine.backup(to: target.path, in: fileSystem, progress: progress)
        }
        return Copy(memory)
    }

    /// Runs the body while nobody saves into the store or takes keys for new objects.
    package func withoutSaves<Result>(_ body: () throws -> Result) throws -> Result {
        if isReadOnly { return try body() }
        try joint.hold(for: location)
        defer { joint.release() }
        // Saves that had begun have ended when the writer's turn is to be had.
        try EngineError.translated { () throws(EngineError) in try engine.begin().abort() }
        return try keys.withLock { _ in try body() }
    }

    /// Runs the body on the path of a store on disk that nobody has open, in this process or another. The path may be empty.
    ///
    /// - Throws: `storeInUse`, `inputOutput`.
    package static func withUnusedFolder<Result>(_ location: Location, _ body: (String) throws -> Result) throws -> Result {
        let path = location.path
        let inUse = HornbeamError(
            .storeInUse, "The store “\(path)” is open. Remove it from its coordinators, here or in another process, and try again.")
        if isLeased(location) { throw inUse }
        let isLocked = try EngineError.translated { () throws(EngineError) -> Bool in
            let system = PosixFileSystem()
            guard try system.exists(path + "/meta") else { return false }
            return try system.isLocked(path + "/meta")
        }
        if isLocked { throw inUse }
        return try body(path)
    }
}

extension Store.Location {
    /// Where the files are.
    var path: String {
        switch self {
        case .directory(let path): path
        case .memory: "memory.hornbeam"
        }
    }
}
