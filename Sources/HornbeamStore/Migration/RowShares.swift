internal import HornbeamEngine
internal import HornbeamThreads

/// Reading the rows of a table in parts, on several threads.
extension TableView {
    /// Calls the body with leaves and slots that together hold the rows of a range of positions. Each part is read in key order by one
    /// thread; the parts follow each other in key order.
    ///
    /// - Throws: The error of the first part that failed.
    func share(
        _ range: Range<Int>, parts: Int, _ body: (_ part: Int, LeafView, _ slots: Range<Int>) throws -> Void
    ) throws {
        var bounds: [UInt64?] = []
        for part in 0 ... parts { bounds.append(try key(at: range.lowerBound + range.count * part / parts)) }
        var failures = [(any Error)?](repeating: nil, count: parts)
        unsafe failures.withUnsafeMutableBufferPointer { failures in
            // Each thread sets its own failure only.
            Cores.share(parts) { part in
                guard let first = bounds[part] else { return }
                do { try read(from: first, to: bounds[part + 1]) { try body(part, $0, $1) } } catch { unsafe failures[part] = error }
            }
        }
        for case let failure? in failures { throw failure }
    }

    /// Lends the rows with keys from the first to below the last one; nil is the end of the table.
    private func read(from first: UInt64, to last: UInt64?, _ body: (LeafView, Range<Int>) throws -> Void) throws {
        var failure: (any Error)?
        try forEachLeaf(from: first) { (leaf) throws(EngineError) -> Bool in
            let slots = leaf.slot(of: first) ..< (last.map { leaf.slot(of: $0) } ?? leaf.count)
            if slots.isEmpty { return last.map { leaf.count == 0 || leaf.key(leaf.count - 1) < $0 } ?? true }
            do { try body(leaf, slots) } catch { failure = error }
            return failure == nil && slots.upperBound == leaf.count
        }
        if let failure { throw failure }
    }
}

/// The next rows of a table that threads read together, so many that their results have a bounded size.
struct RowWindow {
    private let count: Int
    private let rowsMax: Int
    private var range = 0 ..< 0
    private var rows: Int

    /// The size of the results of one window.
    private static let bytesGoal = 8 << 20
    /// With fewer rows, starting other threads takes longer than it saves.
    private static let rowsForThreads = 1_024

    /// - Parameter first: The size of the first window.
    init(count: Int, rowsMax: Int, first: Int = 4_096) {
        self.count = count
        self.rowsMax = rowsMax
        rows = min(rowsMax, first)
    }

    mutating func next() -> Range<Int>? {
        guard range.upperBound < count else { return nil }
        range = range.upperBound ..< min(range.upperBound + rows, count)
        return range
    }

    func parts(_ threads: Int) -> Int { range.count < Self.rowsForThreads ? 1 : threads }

    /// Sets the number of rows by the bytes that the last ones took. At most doubles it, because the next rows may be longer.
    mutating func countWritten(_ bytes: Int) {
        if bytes > 0 { rows = max(min(range.count * Self.bytesGoal / bytes, rowsMax, range.count * 2), 1) }
    }
}

extension LeafView {
    /// The first slot whose key is not below a key.
    fileprivate func slot(of key: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
