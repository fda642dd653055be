/// Case folding and removal of marks, over Unicode scalars, with fixed tables.
///
/// The tables of a system change with its version. These tables never change, so index keys stay valid on every
/// system, and a predicate has the same result in memory and in a store. `[c]` maps every scalar by its full case
/// folding (ß becomes ss); `[d]` removes the marks of letters, and marks without a letter. Texts are not normalised
/// otherwise.
package enum Folding {
    /// The number of this set of tables; index keys record it.
    package static let version = 1

    /// The folded text; the same bytes when both parameters are false. Bytes that are not UTF-8 stay unchanged.
    package static func fold(
        _ text: some Collection<UInt8>, caseInsensitive: Bool, diacriticInsensitive: Bool
    ) -> [UInt8] {
        let done = text.withContiguousStorageIfAvailable {
            unsafe fold($0, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive)
        }
        if let done { return done }
        return unsafe Array(text).withUnsafeBufferPointer {
            unsafe fold($0, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive)
        }
    }

    /// The text folded by the options of an operator. `[n]` overrides the others.
    package static func fold(_ text: String, _ options: FetchPredicate.Options) -> [UInt8] {
        guard !options.contains(.normalized) else { return Array(text.utf8) }
        return fold(
            text.utf8, caseInsensitive: options.contains(.caseInsensitive),
            diacriticInsensitive: options.contains(.diacriticInsensitive))
    }

    /// True when every byte is ASCII, so that folding only converts to lower case.
    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for unsafe byte in unsafe bytes { all |= byte }
        return all < 0x80
    }

    private static func fold(
        _ bytes: UnsafeBufferPointer<UInt8>, caseInsensitive: Bool, diacriticInsensitive: Bool
    ) -> [UInt8] {
        guard caseInsensitive || diacriticInsensitive, !bytes.isEmpty else { return unsafe Array(bytes) }
        if unsafe isASCII(bytes) {
            guard caseInsensitive else { return unsafe Array(bytes) }
            return unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
                for index in 0..<bytes.count { unsafe buffer[index] = unsafe lower(bytes[index]) }
                count = bytes.count
            }
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 8)
        let table = table(caseInsensitive, diacriticInsensitive)
        var index = 0
        while index < bytes.count {
            let byte = unsafe bytes[index]
            if byte < 0x80 {
                result.append(caseInsensitive ? lower(byte) : byte)
                index += 1
            } else {
                let (scalar, length) = unsafe decode(bytes, index)
                if let folded = scalar.flatMap({ table.folded($0) }) {
                    result.append(contentsOf: folded)
                } else {
                    unsafe result.append(contentsOf: bytes[index..<index + length])
                }
                index += length
            }
        }
        return result
    }

    @inline(__always)
    static func lower(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// The scalar at a position and its length in bytes; where the text is not UTF-8, nil and the length 1.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> (scalar: UInt32?, length: Int) {
        let first = unsafe UInt32(bytes[index])
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first < 0xF5, index + length <= bytes.count else { return (nil, 1) }
        var value = first & (0xFF >> UInt32(length + 1))
        for place in 1..<length {
            let next = unsafe UInt32(bytes[index + place])
            guard next & 0xC0 == 0x80 else { return (nil, 1) }
            value = value << 6 | next & 0x3F
        }
        return (value, length)
    }

    // MARK: Tables

    private static func table(_ caseInsensitive: Bool, _ diacriticInsensitive: Bool) -> FoldingTable {
        switch (caseInsensitive, diacriticInsensitive) {
        case (true, true): both
        case (true, false): cases
        default: diacritics
        }
    }

    /// The characters that change, with their folded form.
    package static func foldings(caseInsensitive: Bool, diacriticInsensitive: Bool) -> [Unicode.Scalar: String] {
        guard caseInsensitive || diacriticInsensitive else { return [:] }
        let changed = table(caseInsensitive, diacriticInsensitive).all.compactMap { scalar, bytes in
            Unicode.Scalar(scalar).map { ($0, String(decoding: bytes, as: UTF8.self)) }
        }
        return Dictionary(uniqueKeysWithValues: changed)
    }

    private static let cases = FoldingTable(caseMap.mapValues(utf8))
    private static let diacritics = FoldingTable(markMap.mapValues(utf8))

    /// Marks are removed first, because a letter with marks may fold to a letter and a mark.
    private static let both: FoldingTable = {
        var map: [UInt32: [UInt8]] = [:]
        for scalar in Set(caseMap.keys).union(markMap.keys) {
            let folded = (markMap[scalar] ?? [scalar]).flatMap { caseMap[$0] ?? [$0] }
            map[scalar] = utf8(folded.flatMap { markMap[$0] ?? [$0] })
        }
        return FoldingTable(map)
    }()

    private static let caseMap: [UInt32: [UInt32]] = {
        var map: [UInt32: [UInt32]] = [:]
        for run in caseRuns {
            for place in 0..<run.count {
                let scalar = run.first + place * run.step
                map[scalar] = [UInt32(Int64(scalar) + Int64(run.delta))]
            }
        }
        for group in caseExpansions.unicodeScalars.split(separator: " ") {
            map[group.first!.value] = group.dropFirst().map(\.value)
        }
        return map
    }()

    private static let markMap: [UInt32: [UInt32]] = {
        var map: [UInt32: [UInt32]] = [:]
        for group in markedLetters.unicodeScalars.split(separator: " ") {
            for scalar in group.dropFirst() { map[scalar.value] = [group.first!.value] }
        }
        for range in marks {
            for scalar in range.first...range.last { map[scalar] = [] }
        }
        return map
    }()

    private static func utf8(_ scalars: [UInt32]) -> [UInt8] {
        scalars.flatMap { Unicode.Scalar($0).flatMap { UTF8.encode($0) }.map(Array.init) ?? [] }
    }
}

/// The UTF-8 foldings of scalars: an array for the lower scalars, a dictionary for the others.
private struct FoldingTable: Sendable {
    private let low: [[UInt8]?]
    private let high: [UInt32: [UInt8]]

    init(_ map: [UInt32: [UInt8]]) {
        var low = [[UInt8]?](repeating: nil, count: 0x2200)
        for (scalar, bytes) in map where Int(scalar) < low.count { low[Int(scalar)] = bytes }
        self.low = low
        high = map.filter { $0.key >= 0x2200 }
    }

    /// All foldings.
    var all: [(scalar: UInt32, bytes: [UInt8])] {
        low.enumerated().compactMap { scalar, bytes in bytes.map { (UInt32(scalar), $0) } } + high.map { ($0.key, $0.value) }
    }

    func folded(_ scalar: UInt32) -> [UInt8]? {
        if Int(scalar) < low.count { return low[Int(scalar)] }
        return high[scalar]
    }
}
