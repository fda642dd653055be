import HornbeamEngine

/// A row of the oracle's table in the model: nil means null.
struct OracleRow: Equatable {
    var long: Int64?
    var flag: Bool?
    var small: Int16?
    var text: [UInt8]?
    var wide: [UInt8]?

    static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bit),
        Column(id: ColumnID(3), kind: .fixed2), Column(id: ColumnID(4), kind: .bytes),
        Column(id: ColumnID(5), kind: .bytes),
    ])

    /// Usually small; sometimes larger than a page.
    static func random(pageSize: Int, _ random: inout some RandomNumberGenerator) -> OracleRow {
        func maybe<T>(_ value: T) -> T? { Int.random(in: 0..<4, using: &random) == 0 ? nil : value }
        let large = Int.random(in: 0..<40, using: &random) == 0 ? pageSize * 2 : pageSize / 16
        let text = (0..<Int.random(in: 0...large, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
        return OracleRow(
            long: maybe(.random(in: .min ... .max, using: &random)), flag: maybe(.random(using: &random)),
            small: maybe(.random(in: .min ... .max, using: &random)), text: maybe(text), wide: maybe([1, 2, 3]))
    }

    func fill(_ buffer: RowBuffer) {
        buffer.reset()
        if let long { buffer.set(0, long) }
        if let flag { buffer.setBit(1, flag) }
        if let small { buffer.set(2, small) }
        text?.withUnsafeBytes { buffer.setBytes(3, $0) }
        wide?.withUnsafeBytes { buffer.setBytes(4, $0) }
    }

    init(_ view: RowView) throws(EngineError) {
        long = view.isNull(0) ? nil : view.load(0, as: Int64.self)
        flag = view.isNull(1) ? nil : view.bit(1)
        small = view.isNull(2) ? nil : view.load(2, as: Int16.self)
        text = view.isNull(3) ? nil : try view.bytes(3)
        wide = view.isNull(4) ? nil : try view.bytes(4)
    }

    init(long: Int64?, flag: Bool?, small: Int16?, text: [UInt8]?, wide: [UInt8]?) {
        (self.long, self.flag, self.small, self.text, self.wide) = (long, flag, small, text, wide)
    }

    func add(to digest: inout ContentDigest) {
        digest.add(long.map { UInt64(bitPattern: $0) } ?? 1 << 40)
        digest.add(flag.map { $0 ? 2 : 1 } ?? 0)
        digest.add(small.map { UInt64(UInt16(bitPattern: $0)) } ?? 1 << 40)
        for bytes in [text, wide] {
            guard let bytes else { digest.add(1 << 41); continue }
            bytes.withUnsafeBytes { digest.add($0) }
        }
    }

    /// Has the effect of `add(to:)` for the row in a view, without copying its bytes.
    static func add(_ view: RowView, to digest: inout ContentDigest) throws(EngineError) {
        digest.add(view.isNull(0) ? 1 << 40 : UInt64(bitPattern: view.load(0, as: Int64.self)))
        digest.add(view.isNull(1) ? 0 : view.bit(1) ? 2 : 1)
        digest.add(view.isNull(2) ? 1 << 40 : UInt64(UInt16(bitPattern: view.load(2, as: Int16.self))))
        for column in [3, 4] {
            guard !view.isNull(column) else { digest.add(1 << 41); continue }
            digest = try view.withBytes(column) { (bytes) throws(EngineError) in
                var digest = digest
                digest.add(bytes)
                return digest
            }
        }
    }
}

/// A 64-bit digest of a content. Different contents have equal digests with a probability of 1 in 2⁶⁴.
struct ContentDigest: Equatable {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func add(_ word: UInt64) {
        let product = (value ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        value = product.high ^ product.low &+ 0xA076_1D64_78BD_642F
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        add(UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var last: UInt64 = 0
        while offset < bytes.count {
            last = last << 8 | UInt64(bytes[offset])
            offset += 1
        }
        add(last)
    }
}
