// Predicts where the text of a row begins, before the cell with its offset has arrived from memory. If the prediction is right, the two
// cache misses of a text overlap.
//
// Rows of a table are alike. In a packed leaf the texts of a column lie behind one another, the last row's first, and those of later columns
// before them. So the offset of a text, from the end of the leaf's arrays, is about linear in the number of the leaf's rows and in the number
// of rows behind its own. Both factors are learnt from the texts that are read, over all leaves together.
// A prediction only chooses which memory to prefetch. Any thread may update it at any time; of two concurrent updates one is lost.

internal import CSystem
internal import Synchronization

/// The predicted offsets of one column's texts.
@safe struct TextOffsetPredictor: ~Copyable, Sendable {
    /// 0 before the first text.
    private let state = Atomic<UInt64>(0)

    /// The place of a row: the number of rows in its leaf, and how many of them lie behind it minus how many before.
    struct Place {
        let count: Int
        let balance: Int

        @inline(__always)
        init(slot: Int, of count: Int) {
            self.count = count
            balance = 2 * (count - 1 - slot) - count
        }
    }

    /// The decoded state.
    struct Line {
        /// The column plus one.
        private(set) var mark: Int
        /// A count of recent correct predictions.
        private(set) var confidence = 0
        /// Bytes by row of the leaf, and by row of the balance; times 4096.
        private(set) var byCount = 0
        private(set) var byBalance = 0

        private static let sureFrom = 4
        private static let confidenceMax = 8
        /// The accepted error: the prefetched lines are 64 bytes wide.
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

        /// Learns from a text; false if that changes nothing. A reliable prediction keeps its factors at single errors: some leaves hold rows of
        /// another kind.
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
            // Half of the error, in proportion to each factor's share (normalised least mean squares).
            let norm = place.count * place.count + place.balance * place.balance
            byCount = Line.limited(byCount + 2048 * error * place.count / norm)
            byBalance = Line.limited(byBalance + 2048 * error * place.balance / norm)
            return true
        }

        private static func limited(_ value: Int) -> Int { min(max(value, -0x7F_FFFF), 0x7F_FFFF) }
    }

    /// The learnt factors; nil before the first text.
    var line: Line? {
        let known = state.load(ordering: .relaxed)
        return known == 0 ? nil : Line(known)
    }

    /// The column as a bit if its prediction is reliable; otherwise none.
    @inline(__always)
    var sureColumn: UInt64 {
        let line = Line(state.load(ordering: .relaxed))
        return line.isSure ? 1 << UInt64(line.mark - 1) : 0
    }

    /// Prefetches the memory where the text of a row probably lies.
    ///
    /// - Parameters:
    ///   - arraysEnd: The end of the leaf's arrays.
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

    /// Learns the offset of a text; false when the prediction is for another column.
    func learn(_ column: Int, _ place: Place, _ start: Int) -> Bool {
        var line = line ?? Line(of: column)
        guard line.mark == column + 1 else { return false }
        if line.learn(place, start) { state.store(line.state, ordering: .relaxed) }
        return true
    }
}
