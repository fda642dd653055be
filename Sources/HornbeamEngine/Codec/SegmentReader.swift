// Reads a page that `SegmentWriter` wrote. The bytes are untrusted: every length is checked before it is used, and the result has exactly the size
// of the page.

/// Reads the segments of one page. Safe: all its memory is lent for the call.
@safe struct SegmentReader {
    private let source: UnsafeRawBufferPointer
    private let page: UnsafeMutableRawBufferPointer
    private var place = 0

    /// Reads segments into the whole of `page`. False if they do not yield exactly its size.
    static func read(_ source: UnsafeRawBufferPointer, into page: UnsafeMutableRawBufferPointer) -> Bool {
        var reader = unsafe SegmentReader(source: source, page: page)
        var end = 0
        while end < page.count {
            guard let bytes = unsafe reader.segment(at: end, of: page, isInside: false) else { return false }
            end += bytes
        }
        return reader.place == source.count
    }

    /// Reads the first segment, and of the others those with bytes in ranges of the page, up to the last range. `wanted` gets the bytes of the first
    /// segment, and returns ascending ranges, or nil to refuse the page. Returns the bytes of the source that were used; nil if they do not suffice,
    /// if the page lacks a part of the ranges, or if there are entries of an index.
    static func readParts(
        _ source: UnsafeRawBufferPointer, into page: UnsafeMutableRawBufferPointer, wanted: (UnsafeRawBufferPointer) -> [Range<Int>]?
    ) -> Int? {
        var reader = unsafe SegmentReader(source: source, page: page)
        guard var end = unsafe reader.segment(at: 0, of: page, isInside: true), let ranges = unsafe wanted(UnsafeRawBufferPointer(page.part(0..<end)))
        else { return nil }
        for range in ranges {
            while end < range.upperBound {
                guard let next = reader.segmentEnd(from: end) else { return nil }
                if next <= range.lowerBound {
                    guard reader.skip() else { return nil }
                } else {
                    guard unsafe reader.segment(at: end, of: page, isInside: true) != nil else { return nil }
                }
                end = next
            }
        }
        return reader.place
    }

    /// The end in the page of the next segment, which begins at `start`. Nil if it is outside the page.
    private func segmentEnd(from start: Int) -> Int? {
        guard unsafe place + SegmentWriter.segmentBytes <= source.count else { return nil }
        let end = start + Int(unsafe source.integer(at: place + 1, as: UInt16.self))
        return unsafe end > start && end <= page.count ? end : nil
    }

    /// Continues after the next segment. False if it is invalid.
    private mutating func skip() -> Bool {
        guard let method = SegmentMethod(rawValue: unsafe source[place]) else { return false }
        let bytes = Int(unsafe source.integer(at: place + 1, as: UInt16.self))
        let start = place + SegmentWriter.segmentBytes
        guard let used = unsafe SegmentReader.storedBytes(source.part(start..<source.count), method, bytes) else { return false }
        place = start + used
        return true
    }

    /// The size of the fields of a segment for `bytes` bytes; nil if it is invalid, longer than the source, or has entries.
    private static func storedBytes(_ source: UnsafeRawBufferPointer, _ method: SegmentMethod, _ bytes: Int) -> Int? {
        func planes(_ start: Int, _ count: Int, _ width: Int) -> Int? {
            guard start <= source.count else { return nil }
            return unsafe NumberPlanes.storedBytes(source.part(start..<source.count), count: count, width: width).map { start + $0 }
        }
        switch method {
        case .bytes: return source.count >= bytes ? bytes : nil
        case .numbers:
            guard source.count > 0, case let width = Int(unsafe source[0]), [1, 2, 4, 8].contains(width), bytes % width == 0 else { return nil }
            return planes(1, bytes / width, width)
        case .decimals:
            guard bytes % 8 == 0 else { return nil }
            return planes(1, bytes / 8, 8).flatMap { planes($0, bytes / 8, 8) }
        case .text: return unsafe HalfByteText.storedBytes(source, count: bytes)
        case .cells: return bytes % 4 == 0 ? planes(2, bytes / 4, 2) : nil
        case .slots: return bytes % 6 == 0 ? planes(2, bytes / 6, 2).flatMap { planes($0, bytes / 6, 2) } : nil
        case .records: return source.count > bytes ? bytes + 1 : nil
        case .entries: return nil
        }
    }

    private init(source: UnsafeRawBufferPointer, page: UnsafeMutableRawBufferPointer) {
        unsafe self.source = source
        unsafe self.page = page
    }

    /// Reads the next segment to an offset of `target`. Returns its size there; nil if it is invalid.
    private mutating func segment(at start: Int, of target: UnsafeMutableRawBufferPointer, isInside: Bool) -> Int? {
        guard unsafe place + SegmentWriter.segmentBytes <= source.count, let method = SegmentMethod(rawValue: unsafe source[place]) else { return nil }
        let bytes = Int(unsafe source.integer(at: place + 1, as: UInt16.self))
        place += SegmentWriter.segmentBytes
        guard bytes > 0, start + bytes <= target.count else { return nil }
        let part = unsafe target.part(start..<start + bytes)
        let rest = unsafe source.part(place..<source.count)
        let used: Int?
        switch method {
        case .bytes: used = unsafe SegmentReader.copy(rest, to: part)
        case .numbers: used = unsafe SegmentReader.numbers(rest, to: part)
        case .decimals: used = unsafe SegmentReader.decimals(rest, to: part)
        case .text: used = unsafe HalfByteText.read(rest, to: part)
        case .cells: used = unsafe SegmentReader.cells(rest, to: part)
        case .slots: used = unsafe SegmentReader.slots(rest, to: part)
        case .records: used = unsafe SegmentReader.records(rest, to: part)
        case .entries:
            guard !isInside else { return nil }
            return unsafe entries(rest, to: part, at: start) ? bytes : nil
        }
        guard let used else { return nil }
        place += used
        return bytes
    }

    private static func copy(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count >= part.count else { return nil }
        unsafe part.copyMemory(from: source.part(0..<part.count))
        return part.count
    }

    private static func numbers(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count > 1 else { return nil }
        let width = Int(unsafe source[0])
        guard width > 0, part.count % width == 0 else { return nil }
        let count = part.count / width
        let rest = unsafe source.part(1..<source.count)
        let used: Int? = switch width {
        case 8: unsafe NumberPlanes.read(rest, count: count, stride: 8, as: UInt64.self, to: part)
        case 4: unsafe NumberPlanes.read(rest, count: count, stride: 4, as: UInt32.self, to: part)
        case 2: unsafe NumberPlanes.read(rest, count: count, stride: 2, as: UInt16.self, to: part)
        case 1: unsafe NumberPlanes.read(rest, count: count, stride: 1, as: UInt8.self, to: part)
        default: nil
        }
        return used.map { $0 + 1 }
    }

    private static func decimals(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count > 1, part.count % 8 == 0 else { return nil }
        let digits = Int(unsafe source[0])
        guard digits <= Decimals.digitsMax else { return nil }
        let count = part.count / 8
        guard let used = unsafe NumberPlanes.read(source.part(1..<source.count), count: count, stride: 8, as: UInt64.self, to: part) else { return nil }
        let rest = unsafe source.part(1 + used..<source.count)
        return unsafe withUnsafeTemporaryAllocation(byteCount: part.count, alignment: 16) { corrections in
            guard let added = unsafe NumberPlanes.read(rest, count: count, stride: 8, as: UInt64.self, to: corrections) else { return nil }
            unsafe Decimals.join(part, UnsafeRawBufferPointer(corrections), count: count, digits: digits)
            return 1 + used + added
        }
    }

    private static func cells(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count > 2, part.count % 4 == 0 else { return nil }
        let count = part.count / 4
        let lengths = unsafe part.part(2..<part.count)
        guard let used = unsafe NumberPlanes.read(source.part(2..<source.count), count: count, stride: 4, as: UInt16.self, to: lengths) else { return nil }
        unsafe HeapCells.setCells(part, count: count, end: Int(source.integer(at: 0, as: UInt16.self)))
        return used + 2
    }

    private static func slots(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count > 2, part.count % 6 == 0 else { return nil }
        let count = part.count / 6
        let (restWords, valueWords) = unsafe (part.part(2..<part.count), part.part(4..<part.count))
        guard let rests = unsafe NumberPlanes.read(source.part(2..<source.count), count: count, stride: 6, as: UInt16.self, to: restWords) else { return nil }
        let rest = unsafe source.part(2 + rests..<source.count)
        guard let values = unsafe NumberPlanes.read(rest, count: count, stride: 6, as: UInt16.self, to: valueWords) else { return nil }
        unsafe HeapCells.setSlots(part, count: count, end: Int(source.integer(at: 0, as: UInt16.self)))
        return 2 + rests + values
    }

    private static func records(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer) -> Int? {
        guard source.count > part.count else { return nil }
        let width = Int(unsafe source[0])
        guard width > 0, part.count % width == 0 else { return nil }
        let count = part.count / width
        var place = 1
        for byte in 0..<width {
            for i in 0..<count { unsafe part[i * width + byte] = source[place + i] }
            place += count
        }
        return place
    }

    private mutating func entries(_ source: UnsafeRawBufferPointer, to part: UnsafeMutableRawBufferPointer, at start: Int) -> Bool {
        guard source.count >= 6 else { return false }
        let offset = Int(unsafe source.integer(at: 0, as: UInt16.self))
        let count = Int(unsafe source.integer(at: 2, as: UInt16.self))
        let value = Int(unsafe source.integer(at: 4, as: UInt16.self))
        place += 6
        guard offset + 6 * count <= start else { return false }
        let slots = unsafe UnsafeRawBufferPointer(page.part(offset..<offset + 6 * count))
        var tails = 0
        for i in 0..<count { tails += unsafe HeapEntries.tailLength(slots, i) }
        guard count > 0, tails + count * value == part.count else { return false }
        let shape = HeapEntries.Shape(tailBytes: tails, valueBytes: value)
        return unsafe withUnsafeTemporaryAllocation(byteCount: part.count + 16, alignment: 16) { parts in
            var end = 0
            while end < part.count {
                guard let bytes = unsafe segment(at: end, of: parts.part(0..<part.count), isInside: true) else { return false }
                end += bytes
            }
            unsafe HeapEntries.join(UnsafeRawBufferPointer(parts), slots, shape, count: count, to: part)
            return true
        }
    }
}
