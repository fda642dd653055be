internal import Foundation
internal import HornbeamEngine

/// Collects index entries in one array of bytes, and sorts them before they are written.
struct EntryRun {
    private struct Entry {
        /// The first eight bytes of the key, which decide most comparisons.
        var head: UInt64
        var offset: Int
        var length: Int
        var object: ObjectReference
    }

    private var arena: [UInt8] = []
    private var entries: [Entry] = []

    var count: Int { entries.count }

    mutating func append(_ key: [UInt8], _ object: ObjectReference) {
        entries.append(
            Entry(head: Self.head(key), offset: arena.count, length: key.count, object: object))
        arena.append(contentsOf: key)
    }

    /// `owner, member`
    mutating func append(owner: UInt64, _ object: ObjectReference) {
        entries.append(Entry(head: owner, offset: arena.count, length: 16, object: object))
        KeyBytes.append(owner, to: &arena)
        KeyBytes.append(object.key, to: &arena)
    }

    private static func head(_ key: [UInt8]) -> UInt64 {
        if key.count >= 8 {
            return unsafe key.withUnsafeBytes { unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
        }
        var head: UInt64 = 0
        for byte in key { head = head << 8 | UInt64(byte) }
        return key.isEmpty ? 0 : head << UInt64(8 * (8 - key.count))
    }

    /// Passes the entries to `body` in key order, then removes them. Entries with equal keys keep their order of insertion.
    mutating func forEachSorted<E: Error>(
        _ body: (UnsafeRawBufferPointer, ObjectReference) throws(E) -> Void
    ) throws(E) {
        var sorted: [Entry] = []
        swap(&sorted, &entries)
        defer {
            arena.removeAll(keepingCapacity: true)
            sorted.removeAll(keepingCapacity: true)
            swap(&sorted, &entries)
        }
        unsafe try arena.withRawBytes { arena throws(E) in
            sorted.sort { unsafe Self.isBefore($0, $1, arena) }
            for entry in sorted {
                unsafe try body(UnsafeRawBufferPointer(rebasing: arena[entry.offset ..< entry.offset + entry.length]), entry.object)
            }
        }
    }

    private static func isBefore(_ a: Entry, _ b: Entry, _ arena: UnsafeRawBufferPointer) -> Bool {
        if a.head != b.head { return a.head < b.head }
        let difference = unsafe memcmp(
            arena.baseAddress! + a.offset, arena.baseAddress! + b.offset, min(a.length, b.length))
        if difference != 0 { return difference < 0 }
        return a.length == b.length ? a.offset < b.offset : a.length < b.length
    }
}
