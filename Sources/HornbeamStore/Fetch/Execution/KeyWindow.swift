internal import HornbeamEngine

/// The range of keys that contains the results of a scan. It is bounded when the ranks of rows determine the keys at offset and limit.
struct KeyWindow {
    var first: UInt64?
    /// The last key that can be a result.
    var last: UInt64?

    var isOpen: Bool { first == nil && last == nil }

    func narrow(_ selection: inout Selection, _ leaf: LeafView) {
        guard leaf.count > 0 else { return }
        if let first, leaf.key(0) < first { selection.filter { leaf.key($0) >= first } }
        if let last, leaf.key(leaf.count - 1) > last { selection.filter { leaf.key($0) <= last } }
    }

    func ends(in leaf: LeafView) -> Bool {
        guard let last, leaf.count > 0 else { return false }
        return leaf.key(leaf.count - 1) >= last
    }
}
