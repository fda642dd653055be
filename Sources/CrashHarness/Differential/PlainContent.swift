import HornbeamEngine
import HornbeamSimulation

/// Values and rows that are derived from a number, the stamp, so that a model stores only stamps.
enum PlainContent {
    /// A pattern of bytes. Values of variable length are parts of it.
    private static let pattern: [UInt8] = {
        var random = SimulationRandom(seed: 0x5EED)
        return (0..<1 << 15).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }()

    /// A stamp. Its top byte is the version of the row's layout; the other bytes are random.
    static func stamp(version: UInt64 = 0, _ random: inout ChoiceGenerator) -> UInt64 {
        version << 56 | random.next() >> 8
    }

    /// Passes the value of variable length of a stamp to `body`. It is usually short; one in 64 is longer than a leaf allows.
    static func withBytes<R>(_ stamp: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let start = Int(stamp & 0x3FFF)
        let isLong = stamp >> 14 & 63 == 0
        let length = Int(stamp >> 20 & 0xFFFF) % (isLong ? 9000 : 40)
        return unsafe try pattern.withUnsafeBytes { unsafe try body(UnsafeRawBufferPointer(rebasing: $0[start..<start + length])) }
    }

    static func isEqual(_ bytes: UnsafeRawBufferPointer, _ stamp: UInt64) -> Bool {
        unsafe withBytes(stamp) { unsafe $0.elementsEqual(bytes) }
    }

    // MARK: Rows

    /// The successive layouts of a table. Each has one column more than the previous one.
    static let layouts: [ColumnLayout] = (1...4).map { version in
        let first = [
            Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bit), Column(id: ColumnID(3), kind: .fixed2),
            Column(id: ColumnID(4), kind: .bytes),
        ]
        let added = (1..<version).map { Column(id: ColumnID(UInt32(4 + $0)), kind: .fixed4, fill: fill($0)?.bytes) }
        return ColumnLayout(version: UInt32(version), columns: first + added)
    }

    /// The fill value of the n-th added column, for rows that are older than the column.
    private static func fill(_ n: Int) -> UInt32? { n == 2 ? nil : 0xF177_0000 + UInt32(n) }

    private static func value(_ stamp: UInt64, ofAdded n: Int) -> UInt32 { UInt32(truncatingIfNeeded: stamp >> 16) &+ UInt32(n) }

    /// Fills a buffer with the row of a stamp. The buffer has the layout of the stamp's version.
    static func fill(_ buffer: RowBuffer, _ stamp: UInt64) {
        buffer.reset()
        if let long = firstValue(stamp) { buffer.set(0, long) }
        if stamp & 3 != 1 { buffer.setBit(1, stamp & 4 != 0) }
        if stamp & 3 != 2 { buffer.set(2, UInt16(truncatingIfNeeded: stamp >> 8)) }
        if stamp & 7 != 5 { unsafe withBytes(stamp) { unsafe buffer.setBytes(3, $0) } }
        for n in 1..<Int(stamp >> 56) { buffer.set(3 + n, value(stamp, ofAdded: n)) }
    }

    private static func firstValue(_ stamp: UInt64) -> UInt64? { stamp & 3 == 0 ? nil : stamp &* 0x9E37_79B9_7F4A_7C15 }

    /// The value of the first column after a patch. Nil means null.
    static func patched(_ patch: UInt64) -> UInt64? { patch % 5 == 0 ? nil : patch }

    /// True if a row has the values of a stamp, and the patch in its first column. It is read in a version of the layout.
    static func isEqual(_ row: RowView, _ stamp: UInt64, patch: UInt64?, version: Int) throws(EngineError) -> Bool {
        let long = patch.map { patched($0) } ?? firstValue(stamp)
        guard row.isNull(0) == (long == nil), long == nil || row.load(0, as: UInt64.self) == long else { return false }
        guard row.isNull(1) == (stamp & 3 == 1), row.isNull(1) || row.bit(1) == (stamp & 4 != 0) else { return false }
        guard row.isNull(2) == (stamp & 3 == 2) else { return false }
        guard row.isNull(2) || row.load(2, as: UInt16.self) == UInt16(truncatingIfNeeded: stamp >> 8) else { return false }
        guard row.isNull(3) == (stamp & 7 == 5) else { return false }
        if !row.isNull(3) {
            guard unsafe try row.withBytes(3, { bytes throws(EngineError) in unsafe isEqual(bytes, stamp) }) else { return false }
        }
        for n in 1..<version {
            let expected = Int(stamp >> 56) > n ? value(stamp, ofAdded: n) : fill(n)
            guard row.isNull(3 + n) == (expected == nil) else { return false }
            guard expected == nil || row.load(3 + n, as: UInt32.self) == expected else { return false }
        }
        return true
    }
}

extension UInt32 {
    fileprivate var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> UInt32(8 * $0)) } }
}
