// Where the text of a row is likely to begin, before the cell that says so has come from memory: the two misses of the cache that a text costs
// overlap where the guess is right.
//
// Rows of a table are much alike. In a leaf that was packed, the texts of a column lie behind one another, the last row's first, and those
// of the columns behind it before them: so where a text begins, seen from the end of the leaf's arrays, grows with the number of the leaf's
// rows and with that of the rows behind its own. How much with each is learnt from the texts that are read, of all leaves together.
// What holds: a guess only says which memory to fetch ahead. Any thread may learn at any time; what two threads learn at once is
// learnt by one of them.

internal import CSystem
internal import Synchronization

/// Where the texts of one column begin.
@safe struct TextGuess: ~Copyable, Sendable {
    /// 0 while no text was read.
    private let state = Atomic<UInt64>(0)

    /// The place of a row: how many there are in its leaf, and how many of them lie behind it less how many before.
    struct Place {
        let count: Int
        let balance: Int

        @inline(__always)
        init(slot: Int, of count: Int) {
            self.count = count
            balance = 2 * (count - 1 - slot) - count
        }
    }

    /// What the state says.
    struct Line {
        /// The column plus one.
        private(set) var mark: Int
        /// How often it was right of late.
        private(set) var confidence = 0
        /// Bytes by row of the leaf, and by row of the balance; times 4096.
        private(set) var byCount = 0
        private(set) var byBalance = 0

        private static let sureFrom = 4
        private static let confidenceMax = 8
        /// As far off a guess is good still: the lines fetched are 64 bytes wide.
        static let tolerance = 24

        @inline(__always)
        init(_ state: UInt64) {
            mark = Int(state >> 52 & 0xFF)
            confidence = Int(state >> 48 & 0xF)
            byCount = Int(Int32(truncatingIfNeeded: state >> 16) >> 8)
            byBalance = Int(Int32(truncatingIfNeeded: state << 8) >> 8)
        }

        init(of column: Int) { mark = column + 1 }

        var state: UInt64 {
            UInt64(mark) << 52 | UInt64(confidence) << 48 | UInt64(UInt32(truncatingIfNeeded: byCount) & 0xFF_FFFF) << 24
                | UInt64(UInt32(truncatingIfNeeded: byBalance) & 0xFF_FFFF)
        }

        @inline(__always)
        var isSure: Bool { confidence >= Line.sureFrom }

        /// Bytes from the end of the arrays.
        @inline(__always)
        func start(_ place: Place) -> Int { (byCount * place.count + byBalance * place.balance) >> 12 }

        /// Takes a text into account; false where that changes nothing. A line that is right as a rule is left alone when it errs: there are
        /// leaves of another kind of rows.
        mutating func learn(_ place: Place, _ start: Int) -> Bool {
            let error = start - self.start(place)
            if abs(error) <= Line.tolerance {
                if confidence == Line.confidenceMax { return false }
                confidence += 1
            } else if isSure {
                confidence = confidence > Line.sureFrom ? confidence - 1 : 0
                return true
            } else {
                confidence = 0
            }
            // Half of the error, on both as they have part in it (normalised least mean squares).
            let norm = place.count * place.count + place.balance * place.balance
            byCount = Line.limited(byCount + 2048 * error * place.count / norm)
            byBalance = Line.limited(byBalance + 2048 * error * place.balance / norm)
            return true
        }

        private static func limited(_ value: Int) -> Int { min(max(value, -0x7F_FFFF), 0x7F_FFFF) }
    }

    /// What was learnt; nil before the first text.
    var line: Line? {
        let known = state.load(ordering: .relaxed)
        return known == 0 ? nil : Line(known)
    }

    /// The column as a bit, when a guess can be relied upon; else none.
    @inline(__always)
    var sureColumn: UInt64 {
        let line = Line(state.load(ordering: .relaxed))
        return line.isSure ? 1 << UInt64(line.mark - 1) : 0
    }

    /// Has the memory fetched where the text of a row is likely to lie.
    ///
    /// - Parameters:
    ///   - arraysEnd: Where the arrays of the leaf end.
    ///   - pageEnd: The end of its page.
    @inline(__always)
    func fetchAhead(_ place: Place, _ arraysEnd: UnsafeRawPointer, _ pageEnd: UnsafeRawPointer) {
        let line = Line(state.load(ordering: .relaxed))
        guard line.isSure else { return }
        let start = line.start(place)
        guard start >= 0, unsafe start < pageEnd - arraysEnd - 64 else { return }
        unsafe fetch_line(arraysEnd + start)
        unsafe fetch_line(arraysEnd + start + 40)
    }

    /// Takes note of where a text began; false when the guess is about another column.
    func learn(_ column: Int, _ place: Place, _ start: Int) -> Bool {
        var line = line ?? Line(of: column)
        guard line.mark == column + 1 else { return false }
        if line.learn(place, start) { state.store(line.state, ordering: .relaxed) }
        return true
    }
}
