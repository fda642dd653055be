@testable import HornbeamEngine

/// A page of random parts.
struct RandomPage {
    private(set) var bytes: [UInt8] = []
    private(set) var parts: [PagePart] = []

    enum Part: CaseIterable { case bytes, numbers, decimals, text, cells, entries }

    init(bytes: [UInt8], parts: [PagePart]) {
        self.bytes = bytes
        self.parts = parts
    }

    init(_ random: inout SplitMix, bytesMax: Int) {
        self.init((0..<Int.random(in: 1...6, using: &random)).map { _ in Part.allCases.randomElement(using: &random)! }, &random, bytesMax: bytesMax)
    }

    init(_ kinds: [Part], _ random: inout SplitMix, bytesMax: Int) {
        for kind in kinds {
            let room = bytesMax / kinds.count
            switch kind {
            case .bytes: addBytes(&random, room)
            case .numbers: addNumbers(&random, room)
            case .decimals: addDecimals(&random, room)
            case .text: addText(&random, room)
            case .cells: addCells(&random, room)
            case .entries: addEntries(&random, room)
            }
        }
    }

    /// The page as segments; nil if they save nothing.
    var encoded: [UInt8]? {
        var target = [UInt8](repeating: 0, count: bytes.count)
        let used = bytes.withBytes { source in target.withMutableBytes { PageSegments.encode(source, parts, into: $0) } }
        return used.map { Array(target[..<$0]) }
    }

    /// The segments without LZ4, so that a changed byte reaches the methods; nil if they save nothing.
    var segments: [UInt8]? {
        var target = [UInt8](repeating: 0, count: bytes.count)
        var scratch = target
        let used = bytes.withBytes { source in
            target.withMutableBytes { target in scratch.withMutableBytes { SegmentWriter.write(source, parts, into: target, scratch: $0) } }
        }
        guard let used, used < bytes.count else { return nil }
        return withUnsafeBytes(of: UInt32(used).littleEndian) { Array($0) } + target[..<used]
    }

    private mutating func append<T: FixedWidthInteger>(_ value: T) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }

    private mutating func addBytes(_ random: inout SplitMix, _ room: Int) {
        let count = Int.random(in: 0...min(room, 100), using: &random)
        for _ in 0..<count { bytes.append(.random(in: 0...9, using: &random)) }
        parts.append(.bytes(count))
    }

    private mutating func addNumbers(_ random: inout SplitMix, _ room: Int) {
        let width = [1, 2, 4, 8].randomElement(using: &random)!
        let count = Int.random(in: 1...max(room / width, 1), using: &random)
        let base = UInt64.random(in: .min ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
        let range = UInt64.max >> UInt64.random(in: 0...63, using: &random)
        let step: UInt64 = [0, 0, 1, 60, .max, 1 << 40].randomElement(using: &random)!
        let isSigned = Bool.random(using: &random)
        for i in 0..<count {
            var value = base &+ step &* UInt64(i) &+ .random(in: 0...range, using: &random)
            if isSigned { value = value &- range / 2 &- base }
            withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0.prefix(width)) }
        }
        parts.append(.numbers(count: count, width: width))
    }

    private mutating func addDecimals(_ random: inout SplitMix, _ room: Int) {
        let count = Int.random(in: 1...max(room / 8, 1), using: &random)
        let power = [1, 10, 100, 1e6, 1e9, 3].randomElement(using: &random)!
        let shift = [0, 0, 90, 0.3].randomElement(using: &random)!
        let isMixed = Int.random(in: 0..<8, using: &random) == 0
        for i in 0..<count {
            let value = Double(Int.random(in: -1_000_000...1_000_000, using: &random)) / power - shift
            append((isMixed && i % 7 == 6 ? [-0.0, .nan, .infinity, value * .pi].randomElement(using: &random)! : value).bitPattern)
        }
        parts.append(.numbers(count: count, width: 8))
    }

    private static func text(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
        let letters = (0..<[1, 2, 10, 16, 17, 30].randomElement(using: &random)!).map { _ in UInt8.random(in: 0...255, using: &random) }
        let rare = Int.random(in: 0..<40, using: &random)
        return (0..<count).map { _ in
            Int.random(in: 0..<1000, using: &random) < rare ? .random(in: 0...255, using: &random) : letters.randomElement(using: &random)!
        }
    }

    private mutating func addText(_ random: inout SplitMix, _ room: Int) {
        let count = Int.random(in: 0...room, using: &random)
        bytes += Self.text(count, &random)
        parts.append(.text(count))
    }

    /// Cells with nulls, empty texts and references, with and without a wrong offset.
    private mutating func addCells(_ random: inout SplitMix, _ room: Int) {
        let count = Int.random(in: 1...max(room / 4, 1), using: &random)
        let end = Int.random(in: count...16384, using: &random)
        let wrong = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0..<count, using: &random) : -1
        var place = end
        for i in 0..<count {
            if Int.random(in: 0..<5, using: &random) == 0 {
                append(UInt32(0))
            } else {
                let length = min(Int.random(in: 0...20, using: &random), place - 1)
                place -= length
                append(UInt16(i == wrong ? place ^ 1 : place))
                append(UInt16(length) | (Int.random(in: 0..<9, using: &random) == 0 ? 0x8000 : 0))
            }
        }
        parts.append(.cells(count: count, end: end))
    }

    /// Slots and a heap, as in the leaf of an index.
    private mutating func addEntries(_ random: inout SplitMix, _ room: Int) {
        let tailMax = [0, 1, 8, 20, 40].randomElement(using: &random)!
        let isFixed = Bool.random(using: &random)
        let value = [0, 1, 2, 8, 8, 24, 150].randomElement(using: &random)!
        let isMixed = Int.random(in: 0..<8, using: &random) == 0
        let count = max(room / (6 + tailMax + value), 1)
        let lengths = (0..<count).map { _ in
            (tail: isFixed ? tailMax : Int.random(in: 0...tailMax, using: &random), value: isMixed ? Int.random(in: 0...value, using: &random) : value)
        }
        let heap = lengths.reduce(0) { $0 + $1.tail + $1.value }
        let slots = bytes.count
        let end = min(slots + 6 * count + heap, 0xFFFF)
        var place = end
        for length in lengths {
            place = max(place - length.tail - length.value, 0)
            append(UInt16(place))
            append(UInt16(length.tail == 0 ? Int.random(in: 0...8, using: &random) : length.tail + 8))
            append(UInt16(length.value) | (Int.random(in: 0..<30, using: &random) == 0 ? 0x8000 : 0))
        }
        parts.append(.slots(count: count, end: end))
        var number = UInt64.random(in: 0...1 << 40, using: &random)
        for length in lengths.reversed() {
            bytes += Self.text(length.tail, &random)
            number += 3
            bytes += length.value == 8 ? withUnsafeBytes(of: number.littleEndian) { Array($0) } : Self.text(length.value, &random)
        }
        parts.append(.entries(heap, count: count, slots: slots))
    }

    /// Bytes with a few changes, half of them in the fields of the first segments; sometimes shortened or lengthened.
    static func changed(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let end = Bool.random(using: &random) ? min(40, bytes.count) : bytes.count
            let place = Int.random(in: 0..<end, using: &random)
            bytes[place] = [0, 1, 7, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)].randomElement(using: &random)!
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.removeLast(.random(in: 1...bytes.count, using: &random))
        case 1: bytes.append(0)
        default: break
        }
        return bytes
    }
}
