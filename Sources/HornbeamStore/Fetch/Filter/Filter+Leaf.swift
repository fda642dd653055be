internal import HornbeamEngine
internal import HornbeamModel

/// Filters for the rows of a whole leaf. Each filter tests only the selected rows, and deselects those that do not satisfy it.
extension Filter {
    func narrow(
        _ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) {
        switch self {
        case .constant(true): return
        case .constant(false): selection = Selection(none: leaf.count)
        case .range(let test): test.narrow(&selection, leaf)
        case .flag(let test): test.narrow(&selection, leaf)
        case .null(let test): test.narrow(&selection, leaf)
        case .and(let filters):
            for filter in filters where !selection.isEmpty { try filter.narrow(&selection, leaf, table, context) }
        case .or(let filters): try Self.narrowToAny(of: filters, &selection, leaf, table, context)
        case .not(let filter):
            var passing = selection
            try filter.narrow(&passing, leaf, table, context)
            selection.subtract(passing)
        case .reference(let test): selection.filter { test.holds(leaf.row($0)) }
        case .numbers(let test): selection.filter { test.holds(leaf.row($0)) }
        case .keys(let keys): selection.filter { keys.contains(leaf.key($0)) }
        case .text(let test): try test.narrow(&selection, leaf, context)
        case .texts(let test):
            try selection.filter { (slot) throws(EngineError) in try test.holds(leaf.row(slot)) }
        case .bytes(let test):
            try selection.filter { (slot) throws(EngineError) in try test.holds(leaf.row(slot)) }
        case .path(let test): try test.narrow(&selection, leaf, table, context)
        case .members(let test): try test.narrow(&selection, leaf, table, context)
        case .general(let test):
            try selection.filter { (slot) throws(EngineError) -> Bool in
                try test.holds(leaf.row(slot), leaf.key(slot), table, context)
            }
        }
    }

    private static func narrowToAny(
        of filters: [Filter], _ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable,
        _ context: FilterContext
    ) throws(EngineError) {
        var open = selection
        for filter in filters where !open.isEmpty {
            var passing = open
            try filter.narrow(&passing, leaf, table, context)
            open.subtract(passing)
        }
        selection.subtract(open)
    }
}

extension Filter {
    /// The columns that the filter reads in every leaf, one bit for each of the first 64.
    var leafColumns: UInt64 {
        switch self {
        case .range(let test): Self.bit(test.column)
        case .flag(let test): Self.bit(test.column)
        case .null(let test): Self.bit(test.column)
        case .text(let test): Self.bit(test.column)
        case .and(let filters), .or(let filters): filters.reduce(0) { $0 | $1.leafColumns }
        case .not(let filter): filter.leafColumns
        case .constant, .reference, .numbers, .texts, .bytes, .keys, .path, .members, .general: 0
        }
    }

    private static func bit(_ column: Int) -> UInt64 { column < 64 ? 1 << UInt64(column) : 0 }
}

extension FlagTest {
    func narrow(_ selection: inout Selection, _ leaf: LeafView) {
        guard let bits = unsafe leaf.bitCells(column) else { return selection.filter { holds(leaf.row($0)) } }
        let nulls = unsafe leaf.hasNulls(column) ? leaf.nullBits(column) : nil
        for index in selection.words.indices {
            let cells = unsafe Selection.word(bits, index)
            let nullWord = unsafe nulls.map { unsafe Selection.word($0, index) } ?? 0
            let passing = (trueResult ? cells : 0) | (falseResult ? ~cells : 0)
            selection.words[index] &= passing & ~nullWord | (nullResult ? nullWord : 0)
        }
    }
}

extension TextTest {
    func narrow(_ selection: inout Selection, _ leaf: LeafView, _ context: FilterContext) throws(EngineError) {
        if let pattern { return try narrow(&selection, leaf, pattern, context) }
        try selection.filter { (slot) throws(EngineError) -> Bool in
            try holds(leaf.row(slot), context)
        }
    }

    private func narrow(
        _ selection: inout Selection, _ leaf: LeafView, _ pattern: BytePattern, _ context: FilterContext
    ) throws(EngineError) {
        guard let nulls = unsafe leaf.nullBits(column) else {
            return try selection.filter { (slot) throws(EngineError) -> Bool in try holds(leaf.row(slot), context) }
        }
        if let tail = pattern.tail, !nullResult, leaf.filterRows(&selection.words, endingWith: tail, in: column) { return }
        try selection.filter { (slot) throws(EngineError) -> Bool in
            if unsafe nulls[slot >> 3] >> UInt8(slot & 7) & 1 == 1 { return nullResult }
            guard let bytes = unsafe leaf.bytesInLeaf(column, slot) else { return try holds(leaf.row(slot), context) }
            return unsafe pattern.matches(in: bytes)
        }
    }
}

extension NullTest {
    func narrow(_ selection: inout Selection, _ leaf: LeafView) {
        // A leaf without null bits may lack the column; then the rows are tested.
        guard let nulls = unsafe leaf.nullBits(column) else { return selection.filter { holds(leaf.row($0)) } }
        for index in selection.words.indices {
            let word = unsafe Selection.word(nulls, index)
            selection.words[index] &= matchesNull ? word : ~word
        }
    }
}
