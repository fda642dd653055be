import HornbeamEngine

/// Arbitrary bytes as segments of a page, and as pages.
enum SegmentsTarget {
    /// Pages of numbers, of texts and of an index, as segments, after two bytes with their sizes.
    static var seeds: [[UInt8]] {
        let text = Array((0..<40).map { "\($0 * 7919 + 1_000_000)-\(["a", "b", "c"][$0 % 3])" }.joined().utf8)
        let numbers: [UInt8] = (0..<48).flatMap { [UInt8($0 * 5), 1, 0, 0, 0, 0, 0, 0] as [UInt8] }
        let decimals: [UInt8] = (0..<48).flatMap { number -> [UInt8] in
            unsafe withUnsafeBytes(of: (Double(number * 37) / 100).bitPattern.littleEndian) { unsafe Array($0) }
        }
        return [
            segments(text, [.text(text.count)]), segments(numbers, [.numbers(count: 48, width: 8)]), segments(numbers, [.numbers(count: 192, width: 2)]),
            segments(decimals, [.numbers(count: 48, width: 8)]), segments(index, indexParts),
        ]
    }

    private static let entries = 30

    /// Slots, then the heap of entries with tails of eight bytes and values of eight bytes.
    private static let index: [UInt8] = {
        var slots: [UInt8] = []
        var heap: [UInt8] = []
        for i in 0..<entries {
            let offset = 6 * entries + 16 * (entries - 1 - i)
            slots += [UInt8(offset & 0xFF), UInt8(offset >> 8), 16, 0, 8, 0]
            heap += [UInt8](repeating: UInt8(i), count: 8) + [UInt8(i), 1, 0, 0, 0, 0, 0, 0]
        }
        return slots + heap
    }()

    private static var indexParts: [PagePart] {
        [.slots(count: entries, end: 22 * entries), .entries(16 * entries, count: entries, slots: 0)]
    }

    private static func segments(_ page: [UInt8], _ parts: [PagePart]) -> [UInt8] {
        [UInt8(page.count & 0xFF), UInt8(page.count >> 8)] + (encode(page, parts) ?? [])
    }

    private static func encode(_ page: [UInt8], _ parts: [PagePart]) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: page.count)
        let used = unsafe page.withUnsafeBytes { page in unsafe target.withUnsafeMutableBytes { unsafe PageSegments.encode(page, parts, into: $0) } }
        return used.map { Array(target.prefix($0)) }
    }

    /// Reads segments into a page of a size; nil if they are refused.
    private static func decode(_ bytes: [UInt8], size: Int) throws -> [UInt8]? {
        var target = [UInt8](repeating: 0xA5, count: size + 64)
        let isWhole = unsafe bytes.withUnsafeBytes { source in
            unsafe target.withUnsafeMutableBytes { unsafe PageSegments.decode(source, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<size])) }
        }
        guard target[size...].allSatisfy({ $0 == 0xA5 }) else { throw Finding("reading segments writes beyond its end") }
        return isWhole ? Array(target.prefix(size)) : nil
    }

    /// Reads a range of a page of a size, from a prefix of the segments; nil if they are refused.
    private static func decode(_ range: Range<Int>, of bytes: [UInt8], size: Int, prefix: Int) throws -> ArraySlice<UInt8>? {
        var target = [UInt8](repeating: 0xA5, count: size + 64)
        var prefix = prefix
        let isRead = unsafe bytes.withUnsafeBytes { source in
            unsafe target.withUnsafeMutableBytes { target in
                unsafe PageSegments.decodeParts(source, prefix: &prefix, into: UnsafeMutableRawBufferPointer(rebasing: target[..<size])) { _ in [range] }
            }
        }
        guard target[size...].allSatisfy({ $0 == 0xA5 }) else { throw Finding("reading parts of segments writes beyond their end") }
        return isRead ? target[range] : nil
    }

    /// Reads segments of a page of a size, and parts of it.
    private static func read(_ bytes: [UInt8], size: Int) throws {
        let whole = try decode(bytes, size: size)
        let range = size / 3..<size - size / 5
        for prefix in [0, 40, size / 2, bytes.count] {
            guard let part = try decode(range, of: bytes, size: size, prefix: prefix), let whole else { continue }
            guard part == whole[range] else { throw Finding("a part of a page differs from the page") }
        }
    }

    /// Reads the bytes after the first two, which contain the size of the page. Then writes all bytes as segments in several ways, and reads them.
    static func run(_ bytes: [UInt8]) throws {
        guard bytes.count > 2 else { return }
        try read(Array(bytes.dropFirst(2)), size: Int(bytes[0]) | Int(bytes[1]) << 8)
        let page = Array(bytes.prefix(16384))
        let size = page.count
        var ways: [[PagePart]] = [[.text(size)], [.cells(count: size / 4, end: size), .bytes(size % 4)], [.slots(count: size / 6, end: size), .bytes(size % 6)]]
        for width in [1, 2, 4, 8] { ways.append([.numbers(count: size / width, width: width), .bytes(size % width)]) }
        for parts in ways {
            guard let bytes = encode(page, parts) else { continue }
            guard try decode(bytes, size: size) == page else { throw Finding("the segments of a page do not yield the page") }
        }
    }
}
