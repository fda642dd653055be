// How far the log was durable, noted in the `lock` file after each sync of the log: the witness for the last group,
// which no later group vouches for. Written and never synced, so it may be lost or old, but it is never ahead of the
// truth: a log that ends before it has lost what was acknowledged.
//
//      0          8                  16        24        32
//      +----------+------------------+---------+---------+
//      | reserved | durable position |  check  | process |
//      +----------+------------------+---------+---------+
//
// The writer, which holds the lock of `meta`, also notes its process, for the message that others get. The check is XXH64
// of the position, seeded with the store's identifier. The position is noted when the store is opened for writing, so that
// readers beside a writer always find one.

internal import HornbeamThreads

/// The note of the log's durable position.
package final class DurableCounter: Sendable {
    static let offset: UInt64 = 8
    static let bytes = 16

    private let path: String
    private let fileSystem: any FileSystem
    private let seed: UInt64
    private let state: Guarded<State>

    private struct State {
        /// Nil where it cannot be opened, and after a write failed, until the next one: no commit fails for the note.
        var file: (any File)?
        /// The largest position noted here. The note never goes back: a checkpoint may restore it beside the sync of a commit.
        var largest = LogPosition.zero
    }

    /// The counter in the lock file at a path, which exists.
    package init(_ path: String, fileSystem: any FileSystem, store: StoreIdentifier, readOnly: Bool = false) {
        self.path = path
        self.fileSystem = fileSystem
        seed = store.high ^ PageHeader.mixed(store.low)
        do throws(EngineError) {
            state = Guarded(State(file: try fileSystem.open(path, readOnly ? .read : .readWrite)))
        } catch {
            state = Guarded(State())
        }
    }

    /// How often a note is read whose check does not fit: the writer may be at it.
    private static let attemptsMax = 5

    /// The position noted; nil if there is none that can be read.
    package var position: LogPosition? {
        for _ in 0..<DurableCounter.attemptsMax { if let position = readOnce() { return position } }
        return nil
    }

    private func readOnce() -> LogPosition? {
        guard let file = state.withLock({ $0.file }) else { return nil }
        var bytes = [UInt8](repeating: 0, count: DurableCounter.bytes)
        do throws(EngineError) {
            let count = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in
                try unsafe file.read(into: buffer, at: DurableCounter.offset)
            }
            guard count == DurableCounter.bytes else { return nil }
        } catch {
            return nil
        }
        return unsafe bytes.withBytes { buffer in
            let noted = unsafe buffer.integer(at: 0, as: UInt64.self)
            guard unsafe buffer.integer(at: 8, as: UInt64.self) == check(buffer.part(0..<8)), noted <= LogPosition.last.rawValue else { return nil }
            return LogPosition(noted)
        }
    }

    /// Notes a position that a sync has just made durable.
    func note(_ position: LogPosition) { state.withLock { write(position, &$0) } }

    /// Notes a position in the file that the path leads to now, which is made anew if it was removed: readers would find no note.
    func restore(_ position: LogPosition) {
        state.withLock { state in
            do throws(EngineError) {
                state.file = try fileSystem.open(path, try fileSystem.exists(path) ? .readWrite : .create)
            } catch {
                state.file = nil
            }
            write(position, &state)
        }
    }

    private func write(_ position: LogPosition, _ state: inout State) {
        state.largest = max(state.largest, position)
        let noted = state.largest.rawValue
        do throws(EngineError) {
            if state.file == nil { state.file = try fileSystem.open(path, .readWrite) }
            guard let file = state.file else { return }
            try unsafe withUnsafeTemporaryAllocation(byteCount: DurableCounter.bytes, alignment: 8) {
                (buffer) throws(EngineError) in
                unsafe buffer.set(noted, at: 0)
                unsafe buffer.set(check(UnsafeRawBufferPointer(buffer.part(0..<8))), at: 8)
                try unsafe file.write(UnsafeRawBufferPointer(buffer), at: DurableCounter.offset)
            }
        } catch {
            state.file = nil
        }
    }

    private func check(_ position: UnsafeRawBufferPointer) -> UInt64 { unsafe XXH64.hash(position, seed: seed) }
}
