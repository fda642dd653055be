import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Keys")
struct KeyOrderTests {
    private static func element(
        _ type: CellType, ascending: Bool = true, collation: KeyCollation = .binary
    ) -> ValueIndex.Element {
        ValueIndex.Element(
            property: libraryModel.entitiesByName["Values"]!.propertiesByName["string"]!, type: type,
            isAscending: ascending, collation: collation)
    }

    private static func key(_ values: [PropertyValue], _ elements: [ValueIndex.Element]) -> [UInt8] {
        var key = IndexKey()
        for (value, element) in zip(values, elements) { key.append(value, element) }
        return key.bytes
    }

    @Test(
        "the bytes of every type compare as its values do",
        arguments: CellType.allCases.filter { $0 != .reference && $0 != .objectID && $0 != .composite })
    func bytesCompareAsValues(_ type: CellType) throws {
        let seed = UInt64(type.hashValue.magnitude)
        var generator = SeededGenerator(seed: seed)
        let values = (0 ..< 200).map { _ in RandomValue.of(type, using: &generator) }
        for a in values {
            for b in values.prefix(60) {
                let order = a.sortOrder(to: b)
                let ascending = compare(Self.key([a], [Self.element(type)]), Self.key([b], [Self.element(type)]))
                #expect(ascending == order, "\(a) and \(b), seed \(seed)")
                let descending = compare(
                    Self.key([a], [Self.element(type, ascending: false)]),
                    Self.key([b], [Self.element(type, ascending: false)]))
                #expect(descending == order.reversed, "\(a) and \(b) descending, seed \(seed)")
            }
        }
    }

    @Test("the first component that differs decides in a compound key")
    func compoundKeysCompareComponentwise() {
        var generator = SeededGenerator(seed: 7)
        let elements = [
            Self.element(.string, ascending: false), Self.element(.data), Self.element(.int16, ascending: false),
            Self.element(.string),
        ]
        let rows = (0 ..< 150).map { _ in elements.map { RandomValue.of($0.type, using: &generator) } }
        for a in rows {
            for b in rows {
                let orders: [ValueOrder] = elements.indices.map { part in
                    let order = a[part].sortOrder(to: b[part])
                    return elements[part].isAscending ? order : order.reversed
                }
                let expected = orders.first { $0 != .same } ?? .same
                #expect(compare(Self.key(a, elements), Self.key(b, elements)) == expected, "\(a) and \(b)")
            }
        }
    }

    @Test("minus zero and zero have one key, and all NaNs have one key before all numbers")
    func zerosAndNaNsAreOne() {
        let double = [Self.element(.double)]
        #expect(Self.key([.double(-0.0)], double) == Self.key([.double(0)], double))
        let oddNaN = Double(bitPattern: 0xFFF8_0000_0000_0123)
        #expect(Self.key([.double(oddNaN)], double) == Self.key([.double(.nan)], double))
        #expect(compare(Self.key([.double(.nan)], double), Self.key([.double(-.infinity)], double)) == .less)
        #expect(compare(Self.key([.null], double), Self.key([.double(.nan)], double)) == .less)
    }

    @Test("composites that are nested as deeply as a model allows are read")
    func nestedComposites() {
        var value = PropertyValue.dictionary(["x": .int(1)])
        for _ in 0 ..< 100 { value = .dictionary(["inner": value]) }
        guard case .dictionary(let parts) = value else { return }
        #expect(CompositeCode.decode(CompositeCode.encode(parts)) == parts)
    }

    @Test("decimals at both ends of the range of exponents survive their bytes", arguments: [
        "1e-128", "123e-128", "1.2345678901234567e-112", "0.1e-127", "12e-128", "1e127", "10e127", "100e127", "170e127",
        "100000000000000000000000000000000000000e127", "340282366920938463463374607431768211455e127", "99999999999999999999999999999999999999e-128",
    ])
    func extremeDecimalsRoundTrip(text: String) throws {
        let number = try #require(Decimal(string: text))
        for number in [number, -number] {
            var bytes: [UInt8] = []
            DecimalCode.append(number, to: &bytes)
            #expect(DecimalCode.decode(bytes) == number)
        }
    }

    @Test("decimals survive their bytes, and equal ones have equal bytes")
    func decimalsRoundTrip() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0 ..< 500 {
            guard case .decimal(let number) = RandomValue.of(.decimal, using: &generator) else { continue }
            var bytes: [UInt8] = []
            DecimalCode.append(number, to: &bytes)
            #expect(DecimalCode.decode(bytes) == number, "\(number)")
        }
        var short: [UInt8] = []
        var long: [UInt8] = []
        DecimalCode.append(Decimal(string: "1.5")!, to: &short)
        DecimalCode.append(Decimal(string: "1.500")!, to: &long)
        #expect(short == long)
    }

    @Test(
        "bytes that are no decimal are refused",
        arguments: [[], [0x04], [0x03], [0x03, 0x80, 0x01], [0x03, 0x80, 0x01, 0xFF, 0x00]])
    func foreignBytesAreNoDecimal(_ bytes: [UInt8]) {
        #expect(DecimalCode.decode(bytes) == nil)
    }

    @Test("components over a thousand bytes become their beginning and a hash")
    func longComponentsAreCut() {
        var key = IndexKey()
        key.append(.string(String(repeating: "x", count: 5_000)), Self.element(.string))
        key.finishComponents()
        #expect(key.isTruncated)
        #expect(key.bytes.count == IndexKey.truncatedLength)
        var whole = IndexKey()
        whole.append(.string(String(repeating: "x", count: 900)), Self.element(.string))
        whole.finishComponents()
        #expect(!whole.isTruncated)
    }

    private func compare(_ a: [UInt8], _ b: [UInt8]) -> ValueOrder {
        a == b ? .same : (a.lexicographicallyPrecedes(b) ? .less : .greater)
    }
}

/// Random values, often close to the limits of their type.
enum RandomValue {
    static func of(_ type: CellType, using generator: inout SeededGenerator) -> PropertyValue {
        if Int.random(in: 0 ..< 12, using: &generator) == 0 { return .null }
        let isEdge = Int.random(in: 0 ..< 4, using: &generator) == 0
        return (isEdge ? edge(type, &generator) : nil) ?? ordinary(type, &generator)
    }

    private static func edge(_ type: CellType, _ generator: inout SeededGenerator) -> PropertyValue? {
        let edges: [PropertyValue]
        switch type {
        case .int16: edges = [-32_768, -1, 0, 1, 32_767]
        case .int32: edges = [.int(Int64(Int32.min)), -1, 0, .int(Int64(Int32.max))]
        case .int64: edges = [.int(.min), -1, 0, .int(.max)]
        case .double: edges = [-.infinity, .infinity, 0, .nan, .leastNonzeroMagnitude].map { .double($0) }
        case .float:
            edges = [-Float.infinity, .infinity, 0, .greatestFiniteMagnitude].map { .double(Double($0)) }
        case .date: edges = [-1e10, 0, 0.5, 1e10].map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .uuid: edges = [0, 255].map { uuid(Array(repeating: $0, count: 16)) }
        default: return nil
        }
        return edges.randomElement(using: &generator)
    }

    private static func ordinary(_ type: CellType, _ generator: inout SeededGenerator) -> PropertyValue {
        switch type {
        case .int16: return .int(.random(in: -300 ... 300, using: &generator))
        case .int32: return .int(.random(in: -9 ... 9, using: &generator))
        case .int64: return .int(.random(in: -1_000 ... 1_000, using: &generator))
        case .double: return .double(.random(in: -5 ... 5, using: &generator))
        case .float: return .double(Double(Float.random(in: -5 ... 5, using: &generator)))
        case .bool: return .bool(.random(using: &generator))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: .random(in: -1e6 ... 1e6, using: &generator)))
        case .decimal: return .decimal(decimal(&generator))
        case .string: return .string(text(&generator))
        case .uri: return .uri(URL(string: "https://example.org/\(Int.random(in: 0 ... 50, using: &generator))")!)
        case .data:
            let bytes = (0 ..< Int.random(in: 0 ... 5, using: &generator)).map { _ -> UInt8 in
                [0, 1, 2, 0x7F, 0xFE, 0xFF].randomElement(using: &generator)!
            }
            return .data(Data(bytes))
        case .uuid: return uuid((0 ..< 16).map { _ in .random(in: 0 ... 255, using: &generator) })
        case .objectID, .composite, .reference: return .null
        }
    }

    private static func uuid(_ bytes: [UInt8]) -> PropertyValue {
        .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    }

    private static func decimal(_ generator: inout SeededGenerator) -> Decimal {
        let digits = Int64.random(in: -2_000_000 ... 2_000_000, using: &generator)
        return Decimal(string: "\(digits)e\(Int.random(in: -8 ... 8, using: &generator))")!
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        let pieces = ["", "a", "b", "A", "é", "\0", "\u{1}", "ß", "日", "ab", "z", " "]
        let count = Int.random(in: 0 ... 4, using: &generator)
        return (0 ..< count).map { _ in pieces.randomElement(using: &generator)! }.joined()
    }
}

@Suite("The document Rows.md")
struct RowsDocumentTests {
    @Test("the encoder makes the bytes of the documented example of the decimal code")
    func decimalExample() {
        var bytes: [UInt8] = []
        DecimalCode.append(Decimal(string: "12.5")!, to: &bytes)
        #expect(bytes == [0x03, 0x80, 0x02, 0x0D, 0x33, 0x00])
    }
}
