// Predicts the offset of a row's text in its leaf, before the cell that contains the offset has been read from memory. If the prediction is
// right, the two cache misses of a text overlap.
//
// In a packed leaf the texts of one column are adjacent, in reverse order of the rows, and the texts of later columns precede them. Rows of a
// table usually have texts of similar lengths. So the distance of a text from the end of the leaf's arrays is about linear in the number of
// the leaf's rows and in the number of rows after its own. Both factors are learnt from the texts that are read in all leaves.
// A prediction only selects the memory to prefetch. Any thread may update it at any time; of two concurrent updates one is lost.

internal import CSystem
internal import Synchronization

/// The predicted offsets of one column's texts.
@safe struct TextOffsetPredictor: ~Copyable, Sendable {
    /// The encoded `Line`; 0 before the first text.
    private let state = Atomic<UInt64>(0)

    /// Getters learn from the texts of one row in this number: where the prediction is wrong, learning takes as long as reading the text.
    static let rowsPerLesson = 16

    /// The position of a row: the number of rows in its leaf, and about the number of rows after it minus the number before it.
    struct RowPosition {
        let count: Int
        let balance: Int

        @inline(__always)
        init(slot: Int, of count: Int) {
            self.count = count
            balance = 2 * (count - 1 - slot) - count
        }
    }

    /// The decoded state: a linear prediction for one column.
    struct Line {
        /// The column plus one.
        private(set) var mark: Int
        /// The number of recent correct predictions, up to `confidenceMax`.
        private(set) var confidence = 0
        // The two factors: bytes for each row of the leaf, and bytes for each unit of the balance; times 4096.
        private(set) var byCount = 0
        private(set) var byBalance = 0

        private static let reliableFrom = 4
        private static let confidenceMax = 8
        /// The largest error, in bytes, of a correct prediction. A prefetched cache line has 64 bytes.
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
        var isReliable: Bool { confidence >= Line.reliableFrom }

        /// The predicted distance of a text from the end of the arrays, in bytes.
        @inline(__always)
        func start(_ place: RowPosition) -> Int { (byCount * place.count + byBalance * place.balance) >> 12 }

        /// Updates the factors with the distance of a text; false if nothing changes. A single error does not change the factors of a reliable
        /// prediction, since some leaves may contain other kinds of rows.
        mutating func learn(_ place: RowPosition, _ start: Int) -> Bool {
            let error = start - self.start(place)
            if abs(error) <= Line.tolerance {
                if confidence == Line.confidenceMax { return false }
                confidence += 1
            } else if isReliable {
                confidence = confidence > Line.reliableFrom ? confidence - 1 : 0
                return true
            } else {
                confidence = 0
            }
            // Corrects half of the error, in proportion to each input (normalised least mean squares).
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

    /// The bit of the column if its prediction is reliable; otherwise 0.
    @inline(__always)
    var reliableColumn: UInt64 {
        let line = Line(state.load(ordering: .relaxed))
        return line.isReliable ? 1 << UInt64(line.mark - 1) : 0
    }

    /// Prefetches the memory at the predicted offset of a row's text, if the prediction is reliable.
    ///
    /// - Parameters:
    ///   - arraysEnd: The end of the leaf's arrays.
    ///   - pageEnd: The end of its page.
    @inline(__always)
    func prefetch(_ place: RowPosition, _ arraysEnd: UnsafeRawPointer, _ pageEnd: UnsafeRawPointer) {
        let line = Line(state.load(ordering: .relaxed))
        guard line.isReliable else { return }
        let start = line.start(place)
        guard start >= 0, unsafe start < pageEnd - arraysEnd - 64 else { return }
        unsafe prefetch_line(arraysEnd + start)
        unsafe prefetch_line(arraysEnd + start + 40)
    }

    /// Updates the prediction with the distance of a text from the end of the arrays. False if the prediction is for another column.
    func learn(_ column: Int, _ place: RowPosition, _ start: Int) -> Bool {
        var line = line ?? Line(of: column)
        guard line.mark == column + 1 else { return false }
        if line.learn(place, start) { state.store(line.state, ordering: .relaxed) }
        return true
    }
}
