internal import HornbeamEngine

/// The folder of a memory store. The store holds it, so the folder is freed with the last holder.
struct MemoryLocation: Sendable {
    let fileSystem: MemoryFileSystem

    init?(_ location: Store.Location) {
        guard case .memory(let name) = location else { return nil }
        fileSystem = MemoryFileSystem.named(name)
    }
}
