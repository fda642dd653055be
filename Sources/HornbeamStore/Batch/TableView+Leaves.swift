internal import HornbeamEngine
internal import HornbeamThreads

/// Tests of leaves before a batch update changes selected rows of them.
extension TableView {
    /// True if no selected row has the largest version. Adding one to that version would make it 0, which means that there is no row. Tests all rows
    /// of the leaves of selected rows.
    func canIncrementVersions(of rows: RowSelection) throws(EngineError) -> Bool {
        try leaves(of: rows, reading: [EntityTable.versionColumn]) { leaf in
            unsafe leaf.fixedCells(EntityTable.versionColumn).map(Self.haveNoLargest) ?? false
        }
    }

    /// True if the leaves of selected rows can hold new variable cells of these lengths, by column. Tests all rows of the leaves.
    func hasRoom(for lengths: [Int: Int], in rows: RowSelection) throws(EngineError) -> Bool {
        let columns = Array(lengths.keys)
        let room = variableBytesMax - lengths.values.reduce(0, +)
        return try leaves(of: rows, reading: []) { $0.variableBytesMax(besides: columns) <= room }
    }

    /// The smallest number of leaves for a thread of its own.
    private static var leavesPerThreadMin: Int { 256 }

    /// True if all leaves of selected rows pass a test, which several threads perform.
    ///
    /// - Parameter columns: The fixed columns that the test reads; they are prefetched.
    private func leaves(of rows: RowSelection, reading columns: [Int], pass test: @Sendable (LeafView) -> Bool) throws(EngineError) -> Bool {
        let mask = columns.reduce(UInt64(0)) { $0 | 1 << UInt64($1) }
        let parts = max(1, min(ScanThreads().most, rows.leafCount / Self.leavesPerThreadMin))
        var results = [Result<Bool, EngineError>](repeating: .success(true), count: parts)
        unsafe results.withUnsafeMutableBufferPointer { results in
            let results = unsafe results
            Cores.share(parts) { part in
                let leaves = rows.leafCount * part / parts..<rows.leafCount * (part + 1) / parts
                unsafe results[part] = Result { () throws(EngineError) in
                    var passes = true
                    try forEachLeaf(of: rows, leaves, prefetching: mask) { (leaf) throws(EngineError) -> Bool in
                        passes = test(leaf)
                        return passes
                    }
                    return passes
                }
            }
        }
        for result in results where try !result.get() { return false }
        return true
    }

    /// True if no version is the largest one. Usually no version has its highest bit set, which takes no comparison.
    private static func haveNoLargest(_ versions: UnsafeRawBufferPointer) -> Bool {
        let offsets = Swift.stride(from: 0, to: versions.count, by: MemoryLayout<UInt32>.size)
        var bits: UInt32 = 0
        for offset in offsets { bits |= unsafe versions.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        return bits >> 31 == 0 || offsets.allSatisfy { unsafe versions.loadUnaligned(fromByteOffset: $0, as: UInt32.self) < .max }
    }
}
