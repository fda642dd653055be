// The number of a page file. It names the file, is the upper half of a page's address, and is never reused.

/// The number of one page file of a store: 1 … 2³¹ − 1.
package struct PageFileNumber: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: UInt32

    package static let first = PageFileNumber(1)
    package static let last = PageFileNumber(0x7FFF_FFFF)

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (a: PageFileNumber, b: PageFileNumber) -> Bool { a.rawValue < b.rawValue }
    package var next: PageFileNumber { PageFileNumber(rawValue + 1) }
    package var description: String { fileName }

    /// `pages-` and 16 decimal digits.
    package var fileName: String { numberedFileName("pages-", UInt64(rawValue)) }

    /// The number in a file name of this form; nil for any other name.
    package init?(fileName: String) {
        guard let number = number(ofFileName: fileName, prefix: "pages-"), number >= 1,
            number <= UInt64(PageFileNumber.last.rawValue)
        else { return nil }
        self.init(UInt32(number))
    }
}

/// A page file and its length.
package struct PageFileSummary: Hashable, Sendable {
    package var number: PageFileNumber
    package var bytes: UInt64
}
