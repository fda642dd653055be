// How far the log was durable, noted in the `lock` file after each sync of the log: the witness for the last group,
// which no later group vouches for. Written and never synced, so it may be lost or old, but it is never ahead of the
// truth: a log that ends before it has lost what was acknowledged.
//
//      0          8                  16        24        32
//      +----------+------------------+---------+---------+
//      | reserved | durable position |  check  | process |
//      +----------+------------------+---------+---------+
//
// Byte 0 carries the writer's lock, whose holder notes its process for the message that others get. The check is XXH64
// of the position, seeded with the store's identifier.

internal import HornbeamThreads

/// The note of the log's durable position.
package final class DurableCounter: Sendable {
    static let offset: UInt64 = 8
    static let bytes = 16

    private let seed: UInt64
    /// The file; nil after it failed once: the note is a help, and no commit fails for it.
    private let file: Guarded<(any File)?>

    /// The counter in the lock file at a path, which exists.
    package init(_ path: String, fileSystem: any FileSystem, store: StoreIdentifier, readOnly: Bool = false) {
        seed = store.high ^ PageHeader.mixed(store.low)
        do throws(EngineError) {
            file = Guarded(try fileSystem.open(path, readOnly ? .read : .readWrite))
        } catch {
            file = Guarded(nil)
        }
    }

    /// The position noted; zero if there is none that can be read.
    package var position: LogPosition {
        guard let file = file.withLock({ $0 }) else { return .zero }
        var bytes = [UInt8](repeating: 0, count: DurableCounter.bytes)
        do throws(EngineError) {
            let count = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in
                try unsafe file.read(into: buffer, at: DurableCounter.offset)
            }
            guard count == DurableCounter.bytes else { return .zero }
        } catch {
            return .zero
        }
        return unsafe bytes.withBytes { buffer in
            let noted = unsafe buffer.integer(at: 0, as: UInt64.self)
            guard unsafe buffer.integer(at: 8, as: UInt64.self) == check(buffer.part(0..<8)) else { return .zero }
            return LogPosition(noted)
        }
    }

    /// Notes a position that a sync has just made durable.
    func note(_ position: LogPosition) {
        file.withLock { file in
            guard let open = file else { return }
            do throws(EngineError) {
                try unsafe withUnsafeTemporaryAllocation(byteCount: DurableCounter.bytes, alignment: 8) {
                    (buffer) throws(EngineError) in
                    unsafe buffer.set(position.rawValue, at: 0)
                    unsafe buffer.set(check(UnsafeRawBufferPointer(buffer.part(0..<8))), at: 8)
                    try unsafe open.write(UnsafeRawBufferPointer(buffer), at: DurableCounter.offset)
                }
            } catch {
                file = nil
            }
        }
    }

    private func check(_ position: UnsafeRawBufferPointer) -> UInt64 { unsafe XXH64.hash(position, seed: seed) }
}
