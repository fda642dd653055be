// The number of a tree within its store. It is not reused after the tree is dropped.

/// The number of one tree of a store.
package struct TreeID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: UInt32

    /// The largest number that fits in a page header.
    package static let max = TreeID(0xFF_FFFF)

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (a: TreeID, b: TreeID) -> Bool { a.rawValue < b.rawValue }
    var next: TreeID { TreeID(rawValue + 1) }
    package var description: String { "t\(rawValue)" }
}
