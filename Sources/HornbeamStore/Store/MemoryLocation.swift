internal import HornbeamEngine

/// The memory that a memory store lies in; held by the store, so that it goes with the last one.
struct MemoryLocation: Sendable {
    let fileSystem: MemoryFileSystem

    init?(_ location: Store.Location) {
        guard case .memory(let name) = location else { return nil }
        fileSystem = MemoryFileSystem.named(name)
    }
}
