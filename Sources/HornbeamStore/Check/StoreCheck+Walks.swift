// Walks over tables and indexes that continue after parts which cannot be read.

internal import HornbeamEngine
internal import HornbeamModel

extension StoreCheck {
    /// The number of entries after which progress is reported.
    private static let entriesPerReport = 1 << 16

    /// The result of a read; nil if the read finds damage.
    static func undamaged<R>(_ read: () throws(EngineError) -> R) throws(EngineError) -> R? {
        do throws(EngineError) {
            return try read()
        } catch {
            guard error.isUnreadable else { throw error }
            return nil
        }
    }

    /// Calls `body` with this check and each row of a table that can be read. Returns the number of the other rows.
    ///
    /// - Parameter body: Throws no `damaged`.
    @discardableResult
    mutating func forEachRow(
        of table: EntityTable, _ body: (inout StoreCheck, RowView, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) -> Int {
        let view = snapshot.view(table)
        let total = view.count
        var copy = self
        defer { self = copy }
        return try Self.walk(total) { (place) throws(EngineError) in
            _ = try view.key(at: place)
        } from: { (next) throws(EngineError) in
            guard let first = try view.key(at: next) else { return }
            try view.forEachLeaf(from: first) { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count where leaf.key(slot) >= first {
                    try body(&copy, leaf.row(slot), leaf.key(slot))
                    next += 1
                }
                try copy.progress.report(table.entity.name, next, total)
                return true
            }
        }
    }

    /// Calls `body` with each entry of an index that can be read. Returns the number of the other entries.
    ///
    /// - Parameter body: Throws no `damaged`.
    func forEachEntry(
        of view: IndexView, _ part: String, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) -> Int {
        let total = view.count
        return try Self.walk(total) { (place) throws(EngineError) in
            _ = try view.entry(at: place)
        } from: { (next) throws(EngineError) in
            unsafe try view.forEach(in: KeyRange(), skipping: next) { (key, value) throws(EngineError) -> Bool in
                unsafe try body(key, value)
                next += 1
                if next % Self.entriesPerReport == 0 { try progress.report(part, next, total) }
                return true
            }
        }
    }

    /// Visits a tree of `count` entries or rows, and continues after the parts that cannot be read. Returns the number of those that were not visited.
    ///
    /// - Parameters:
    ///   - read: Reads the entry at a place.
    ///   - visit: Visits the entries from a place on, and sets it to that of the next entry.
    private static func walk(
        _ count: Int, reading read: (Int) throws(EngineError) -> Void, from visit: (inout Int) throws(EngineError) -> Void
    ) throws(EngineError) -> Int {
        var (next, unread) = (0, 0)
        while next < count {
            let isComplete = try undamaged { () throws(EngineError) in try visit(&next) } != nil
            if isComplete { break }
            let end = try firstReadable(after: next, count, read)
            unread += end - next
            next = end
        }
        return unread
    }

    /// The place of the first readable entry after one that cannot be read; `count` if there is none.
    ///
    /// The distance to the place that is read doubles each time, so a few readable entries between two unreadable parts may be skipped.
    private static func firstReadable(
        after place: Int, _ count: Int, _ read: (Int) throws(EngineError) -> Void
    ) throws(EngineError) -> Int {
        func isReadable(_ place: Int) throws(EngineError) -> Bool { try undamaged { () throws(EngineError) in try read(place) } != nil }
        var (unreadable, end) = (place, place + 1)
        while end < count, try !isReadable(end) { (unreadable, end) = (end, min(count, end + 2 * (end - place))) }
        while end - unreadable > 1 {
            let middle = unreadable + (end - unreadable) / 2
            if try isReadable(middle) { end = middle } else { unreadable = middle }
        }
        return end
    }
}
