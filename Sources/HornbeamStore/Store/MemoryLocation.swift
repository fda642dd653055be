internal import HornbeamEngine

/// The folder of a memory store. It is freed with the last store that refers to it.
struct MemoryLocation: Sendable {
    let fileSystem: MemoryFileSystem

    init?(_ location: Store.Location) {
        guard case .memory(let name) = location else { return nil }
        fileSystem = MemoryFileSystem.named(name)
    }
}
