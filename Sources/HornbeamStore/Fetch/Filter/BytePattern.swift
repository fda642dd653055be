internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The operand of `==`, BEGINSWITH or ENDSWITH that is compared byte by byte, without case or diacritic folding.
struct BytePattern: Sendable {
    enum Anchor: Sendable { case whole, start, end }

    private let bytes: [UInt8]
    private let last: UInt8
    private let anchor: Anchor
    /// The required end of the text, if it is short enough for one comparison.
    let tail: CellTail?

    /// Nil for other operators, for options that fold text, and for an empty operand. These need the general test.
    init?(_ comparator: FetchPredicate.Comparator, _ text: String, _ options: FetchPredicate.Options) {
        guard options.isEmpty, let last = text.utf8.last else { return nil }
        switch comparator {
        case .equal: anchor = .whole
        case .beginsWith: anchor = .start
        case .endsWith: anchor = .end
        default: return nil
        }
        bytes = Array(text.utf8)
        tail = anchor == .end ? CellTail(bytes) : nil
        self.last = last
    }

    @inline(__always)
    func matches(in text: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        guard text.count >= count, let start = text.baseAddress else { return false }
        switch anchor {
        case .whole: return unsafe text.count == count && text[count - 1] == last && memcmp(start, bytes, count) == 0
        case .start: return unsafe text[count - 1] == last && memcmp(start, bytes, count) == 0
        case .end: return unsafe text[text.count - 1] == last && (count == 1 || memcmp(start + (text.count - count), bytes, count) == 0)
        }
    }
}
