internal import HornbeamModel

// The encoding of numbers, texts and keys in history records. Normative: `Docs/Rows.md`.

/// Writes the parts of a record.
struct HistoryRecordWriter {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(96) }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Seven bits per byte, the lowest first; the highest bit is set if more bytes follow.
    mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func append(double: Double) {
        unsafe withUnsafeBytes(of: double.bitPattern.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// The length plus one, then UTF-8; 0 for nil.
    mutating func append(text: String?) {
        guard let text else { return append(number: 0) }
        append(number: UInt64(text.utf8.count) + 1)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(contents: [UInt8]) {
        append(number: UInt64(contents.count))
        bytes.append(contentsOf: contents)
    }

    /// Ascending keys: their number, the first key, then runs of consecutive keys. The distance of a run begins at the end of the previous run.
    /// A run of one key is 2 × distance. A longer run is 2 × distance + 1 and its length. Scattered keys take about a byte each.
    mutating func append(keys: [UInt64]) {
        append(number: UInt64(keys.count))
        guard var next = keys.first else { return }
        append(number: next)
        var start = 0
        while start < keys.count {
            var end = start + 1
            while end < keys.count, keys[end] == keys[end - 1] &+ 1 { end += 1 }
            let distance = keys[start] - next
            append(number: distance << 1 | (end - start > 1 ? 1 : 0))
            if end - start > 1 { append(number: UInt64(end - start)) }
            next = keys[end - 1] &+ 1
            start = end
        }
    }
}

/// Reads the parts of a record from the front. Each method returns nil if the bytes are invalid.
struct HistoryRecordReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() -> UInt64? {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = byte() {
            guard shift < 64 else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }

    mutating func double() -> Double? {
        guard let raw = contents(8) else { return nil }
        return unsafe raw.withUnsafeBytes { unsafe Double(bitPattern: UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self))) }
    }

    /// The outer optional is nil for invalid bytes, the inner one for an absent text.
    mutating func text() -> String?? {
        guard let length = number() else { return nil }
        if length == 0 { return .some(nil) }
        guard let raw = contents(length - 1) else { return nil }
        return String(decoding: raw, as: UTF8.self)
    }

    mutating func contents() -> [UInt8]? { number().flatMap { contents($0) } }

    private mutating func contents(_ count: UInt64) -> [UInt8]? {
        guard count <= UInt64(bytes.count - position) else { return nil }
        defer { position += Int(count) }
        return Array(bytes[position ..< position + Int(count)])
    }

    /// Runs of consecutive keys, ascending.
    mutating func runs() -> [Range<UInt64>]? {
        guard let count = number() else { return nil }
        var runs: [Range<UInt64>] = []
        var left = count
        guard left > 0 else { return runs }
        guard var next = number() else { return nil }
        while left > 0 {
            guard let code = number(), let length = code & 1 == 0 ? 1 : number(), length > 0, length <= left else { return nil }
            let (start, startsOutside) = next.addingReportingOverflow(code >> 1)
            let (end, endsOutside) = start.addingReportingOverflow(length)
            guard !startsOutside, !endsOutside else { return nil }
            runs.append(start ..< end)
            next = end
            left -= length
        }
        return runs
    }
}
