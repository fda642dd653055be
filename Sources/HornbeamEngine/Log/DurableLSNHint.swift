// The durable LSN hint: the durable position of the log, written to the file `lock` after each sync of the log. Each group in the log records
// the durable position before it; only the hint records that the last group is durable. The hint is never synced, so it may be missing or
// old. It is never too high: a log that ends before the hint has lost acknowledged commits.
//
//      0          8                  16        24        32
//      +----------+------------------+---------+---------+
//      | reserved | durable position |  check  | process |
//      +----------+------------------+---------+---------+
//
// The writing process, which holds the lock of `meta`, also records its process number, which error messages of other processes name. The
// check is XXH64 of the position, seeded with the store's identifier. Opening a store for writing writes the hint, so that readers beside a
// writer always find one.

internal import HornbeamThreads

/// The durable LSN hint of one store.
package final class DurableLSNHint: Sendable {
    static let offset: UInt64 = 8
    static let bytes = 16

    private let path: String
    private let fileSystem: any FileSystem
    private let seed: UInt64
    private let state: Guarded<State>

    private struct State {
        /// Nil if the file cannot be opened, or after a failed write. The next write opens it again. Commits do not fail because of the hint.
        var file: (any File)?
        /// The largest position written by this object. A checkpoint may write an older position during the sync of a commit; the hint must
        /// not decrease.
        var largest = LogPosition.zero
    }

    /// The hint in the existing lock file at a path.
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

    /// The number of attempts to read the hint. A check may not match because the writer is just writing.
    private static let attemptsMax = 5

    /// The stored position; nil if it cannot be read.
    package var position: LogPosition? {
        for _ in 0..<DurableLSNHint.attemptsMax { if let position = readOnce() { return position } }
        return nil
    }

    private func readOnce() -> LogPosition? {
        guard let file = state.withLock({ $0.file }) else { return nil }
        var bytes = [UInt8](repeating: 0, count: DurableLSNHint.bytes)
        do throws(EngineError) {
            let count = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in
                try unsafe file.read(into: buffer, at: DurableLSNHint.offset)
            }
            guard count == DurableLSNHint.bytes else { return nil }
        } catch {
            return nil
        }
        return unsafe bytes.withBytes { buffer in
            let noted = unsafe buffer.integer(at: 0, as: UInt64.self)
            guard unsafe buffer.integer(at: 8, as: UInt64.self) == check(buffer.part(0..<8)), noted <= LogPosition.last.rawValue else { return nil }
            return LogPosition(noted)
        }
    }

    /// Writes a position that a sync has just made durable.
    func recordDurable(_ position: LogPosition) { state.withLock { write(position, &$0) } }

    /// Writes a position to the file at the path, and creates the file if it was removed, because readers need the hint.
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
            try unsafe withUnsafeTemporaryAllocation(byteCount: DurableLSNHint.bytes, alignment: 8) {
                (buffer) throws(EngineError) in
                unsafe buffer.set(noted, at: 0)
                unsafe buffer.set(check(UnsafeRawBufferPointer(buffer.part(0..<8))), at: 8)
                try unsafe file.write(UnsafeRawBufferPointer(buffer), at: DurableLSNHint.offset)
            }
        } catch {
            state.file = nil
        }
    }

    private func check(_ position: UnsafeRawBufferPointer) -> UInt64 { unsafe XXH64.hash(position, seed: seed) }
}
