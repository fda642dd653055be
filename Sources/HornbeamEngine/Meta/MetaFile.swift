// The meta file: four blocks of 4 KiB, two slots of two copies each, the copies 8 KiB apart:
//
//      0             4096          8192          12288         16384
//      +-------------+-------------+-------------+-------------+
//      | slot 0      | slot 1      | slot 0      | slot 1      |
//      | copy 0      | copy 0      | copy 1      | copy 1      |
//      +-------------+-------------+-------------+-------------+
//
// A checkpoint rewrites both copies of the slot with the older state, with one sync. The other slot does not change, so after a crash
// at any moment a valid state exists.

internal import HornbeamThreads

/// The meta file of one store.
package final class MetaFile: Sendable {
    static let slotCount = 2
    static let copyCount = 2

    private struct Slots {
        /// The newest valid copy of each slot; nil if neither copy is valid.
        var blocks: [MetaBlock?]
        /// True after a failed write: the file may contain a state that is not durable.
        var isInDoubt = false

        var newest: Int? {
            blocks.indices.filter { blocks[$0] != nil }.max { blocks[$0]!.state.checkpoint < blocks[$1]!.state.checkpoint }
        }
    }

    package let path: String
    private let file: any File
    /// Guards the slots, on disk and in memory. Locked during the write on purpose.
    private let slots: Guarded<Slots>

    private init(path: String, file: any File, blocks: [MetaBlock?]) {
        self.path = path
        self.file = file
        slots = Guarded(Slots(blocks: blocks))
    }

    /// Creates the meta file of a new store with its first state, and syncs it. The caller syncs the folder.
    package static func create(
        _ path: String, fileSystem: any FileSystem, state: MetaState
    ) throws(EngineError) -> MetaFile {
        let file = try fileSystem.open(path, .create)
        let zeros = [UInt8](repeating: 0, count: slotCount * copyCount * MetaBlock.bytes)
        unsafe try zeros.withBytes { (bytes) throws(EngineError) in unsafe try file.write(bytes, at: 0) }
        let meta = MetaFile(path: path, file: file, blocks: [nil, nil])
        try meta.write(state)
        return meta
    }

    /// Opens a meta file and reads its states.
    ///
    /// Throws `notAStore` when the file is missing or of another kind, `newerFormat` when a newer library wrote it, `damaged` when no slot
    /// has a valid copy.
    package static func open(
        _ path: String, fileSystem: any FileSystem, readOnly: Bool = false
    ) throws(EngineError) -> MetaFile {
        let file = try fileSystem.open(path, readOnly ? .read : .readWrite)
        return MetaFile(path: path, file: file, blocks: try readSlots(of: file))
    }

    /// The valid states, newest first: one or two.
    package var states: [MetaState] {
        slots.withLock { slots in
            slots.blocks.compactMap { $0?.state }.sorted { $0.checkpoint > $1.checkpoint }
        }
    }

    /// True after a failed write: the file may contain a state that is not durable.
    var isInDoubt: Bool { slots.withLock { $0.isInDoubt } }

    /// Writes a new state to both copies of the slot with the older state, and syncs.
    ///
    /// After an error, both copies of the slot are written once more. If that fails too, the error is thrown; the other slot still contains
    /// the preceding state.
    package func write(_ state: MetaState) throws(EngineError) {
        try slots.withLock { (slots) throws(EngineError) in
            let newest = slots.newest
            let previous = newest.flatMap { slots.blocks[$0] }
            precondition(state.checkpoint > previous?.state.checkpoint ?? 0, "Checkpoints are numbered upwards.")
            let slot = newest.map { 1 - $0 } ?? 0
            assert(slot != newest, "The newest state is never overwritten.")
            assert(previous.map { $0.state.store == state.store && $0.state.salt == state.salt } ?? true, "A store keeps its identity.")
            assert(state.log.position >= previous?.state.log.position ?? .zero, "A checkpoint never moves back in the log.")
            assert(state.nextPageFile >= previous?.state.nextPageFile ?? .first, "Numbers of page files are not used again.")
            var block = MetaBlock(state: state, previousCheck: previous?.check ?? 0)
            var bytes = [UInt8](repeating: 0, count: MetaBlock.bytes)
            block.check = unsafe bytes.withMutableBytes { unsafe block.encode(into: $0, slot: slot) }
            slots.blocks[slot] = nil
            slots.isInDoubt = true
            do throws(EngineError) {
                try writeCopies(bytes, slot: slot)
            } catch {
                try writeCopies(bytes, slot: slot)
            }
            slots.isInDoubt = false
            slots.blocks[slot] = block
            assert(slots.newest == slot, "The written state is the newest.")
        }
    }

    /// Makes the newest state of the file durable. After a killed process or a failed sync, it may be in the system's cache only.
    ///
    /// Writes the bytes again, since a second sync of the same writes may succeed without making them durable. Syncs after each copy, so that
    /// one durable copy always exists. Writes a copy with another state first.
    package func confirm() throws(EngineError) {
        try slots.withLock { (slots) throws(EngineError) in
            guard let slot = slots.newest, let block = slots.blocks[slot] else { return }
            let offsets = (0..<MetaFile.copyCount).map { UInt64(($0 * MetaFile.slotCount + slot) * MetaBlock.bytes) }
            var copies: [(bytes: [UInt8], offset: UInt64, isValid: Bool)] = []
            for offset in offsets {
                let bytes = try read(at: offset)
                let decoded = unsafe bytes.withBytes { unsafe try? MetaBlock(decoding: $0, slot: slot) }
                copies.append((bytes, offset, decoded?.check == block.check))
            }
            guard let source = copies.first(where: \.isValid)?.bytes else {
                throw EngineError(.damaged, "The newest state of the meta file can no longer be read. Open the store again.", path: path)
            }
            assert(copies.count == MetaFile.copyCount, "All copies of a state are confirmed.")
            for copy in copies.filter({ !$0.isValid }) + copies.filter(\.isValid) {
                unsafe try source.withBytes { (buffer) throws(EngineError) in unsafe try file.write(buffer, at: copy.offset) }
                try file.sync(.meta)
            }
        }
    }

    private func read(at offset: UInt64) throws(EngineError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: MetaBlock.bytes)
        _ = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in unsafe try file.read(into: buffer, at: offset) }
        return bytes
    }

    /// Discards the newest state, because its pages are damaged. The preceding state becomes the newest and is returned; the next write
    /// replaces the discarded one. Returns nil and changes nothing if there is only one state.
    package func discardNewest() -> MetaState? {
        slots.withLock { slots in
            guard let newest = slots.newest, let other = slots.blocks[1 - newest] else { return nil }
            slots.blocks[newest] = nil
            assert(other.state.checkpoint > 0 && slots.newest == 1 - newest, "The state before is the newest now.")
            return other.state
        }
    }

    private func writeCopies(_ bytes: [UInt8], slot: Int) throws(EngineError) {
        assert(bytes.count == MetaBlock.bytes, "A state fills a block.")
        for copy in 0..<MetaFile.copyCount {
            let offset = UInt64((copy * MetaFile.slotCount + slot) * MetaBlock.bytes)
            unsafe try bytes.withBytes { (buffer) throws(EngineError) in unsafe try file.write(buffer, at: offset) }
        }
        try file.sync(.meta)
    }

    package func close() throws(EngineError) { try file.close() }
}
