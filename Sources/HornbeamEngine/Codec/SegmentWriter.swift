// Writes a page as segments: each part in a shorter form, with the method that restores it. A reader needs no other knowledge of the page.
//
// A segment is u8 method, u16 bytes in the page, and the fields of its method. Segments follow each other in the order of the page.

/// Writes the segments of one page. Safe: all its memory is lent for the call.
@safe struct SegmentWriter {
    private let source: UnsafeRawBufferPointer
    private let target: UnsafeMutableRawBufferPointer
    private let scratch: UnsafeMutableRawBufferPointer
    private var used = 0
    /// Bytes that precede `start` and are in no segment yet.
    private var pending = 0
    private var start = 0

    /// Method and size, which begin each segment.
    static let segmentBytes = 3
    private static let sampleBytes = 512
    /// Larger records are left as they are: LZ4 finds what they have in common.
    private static let recordBytesMax = 32
    /// Fewer values are left as they are.
    private static let countMin = 4

    /// Writes a page to `target` and returns the size of its segments; nil if they do not fit. `scratch` has the size of the page.
    static func write(
        _ source: UnsafeRawBufferPointer, _ parts: [PagePart], into target: UnsafeMutableRawBufferPointer, scratch: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var writer = unsafe SegmentWriter(source: source, target: target, scratch: scratch)
        for part in parts { guard writer.add(part) else { return nil } }
        assert(writer.start == source.count, "The parts of a page cover it.")
        guard writer.flush() else { return nil }
        return writer.used
    }

    private init(source: UnsafeRawBufferPointer, target: UnsafeMutableRawBufferPointer, scratch: UnsafeMutableRawBufferPointer) {
        unsafe self.source = source
        unsafe self.target = target
        unsafe self.scratch = scratch
    }

    private mutating func add(_ part: PagePart) -> Bool {
        switch part {
        case .bytes(let count): return leave(count)
        case .numbers(let count, let width): return addNumbers(count, width)
        case .text(let count): return addText(count)
        case .cells(let count, let end): return addCells(count, end)
        case .slots(let count, let end): return addSlots(count, end)
        case .entries(let bytes, let count, let slots): return addEntries(bytes, count, slots)
        }
    }

    /// Leaves bytes as they are.
    private mutating func leave(_ count: Int) -> Bool {
        pending += count
        start += count
        return true
    }

    private mutating func flush() -> Bool {
        guard pending > 0 else { return true }
        guard unsafe used + SegmentWriter.segmentBytes + pending <= target.count else { return false }
        unsafe target.set(SegmentMethod.bytes.rawValue, at: used)
        unsafe target.set(UInt16(pending), at: used + 1)
        unsafe target.part(used + 3..<used + 3 + pending).copyMemory(from: source.part(start - pending..<start))
        used += SegmentWriter.segmentBytes + pending
        pending = 0
        return true
    }

    /// Begins a segment of at most `size` bytes. Nil if the target is full.
    private mutating func begin(_ method: SegmentMethod, _ bytes: Int, size: Int) -> UnsafeMutableRawBufferPointer? {
        guard flush(), unsafe used + SegmentWriter.segmentBytes + size <= target.count else { return nil }
        unsafe target.set(method.rawValue, at: used)
        unsafe target.set(UInt16(bytes), at: used + 1)
        used += SegmentWriter.segmentBytes
        start += bytes
        return unsafe target.part(used..<target.count)
    }

    // MARK: Numbers

    private mutating func addNumbers(_ count: Int, _ width: Int) -> Bool {
        guard count >= SegmentWriter.countMin else { return leave(count * width) }
        switch width {
        case 8: return addWords(count)
        case 4: return addNumbers(count, as: UInt32.self)
        case 2: return addNumbers(count, as: UInt16.self)
        default: return addNumbers(count, as: UInt8.self)
        }
    }

    private mutating func addNumbers<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_ count: Int, as type: T.Type) -> Bool {
        let width = T.bitWidth / 8
        let part = unsafe source.part(start..<start + count * width)
        let numbers = unsafe NumberPlanes.measure(part, count: count, stride: width, as: T.self)
        let size = 1 + numbers.size(count)
        guard unsafe isShorter(size, than: part) else { return leave(part.count) }
        guard let segment = unsafe begin(.numbers, part.count, size: size) else { return false }
        unsafe segment.set(UInt8(width), at: 0)
        unsafe numbers.write(part, count: count, stride: width, as: T.self, to: segment.part(1..<segment.count))
        used += size
        return true
    }

    /// Numbers of eight bytes may be doubles, or the first bytes of keys.
    private mutating func addWords(_ count: Int) -> Bool {
        let part = unsafe source.part(start..<start + 8 * count)
        let numbers = unsafe NumberPlanes.measure(part, count: count, stride: 8, as: UInt64.self)
        if numbers.planes.nonzeroBitCount > 2, let digits = unsafe Decimals.digits(part, count: count) {
            let isAdded: Bool? = unsafe withUnsafeTemporaryAllocation(byteCount: part.count, alignment: 16) { memory in
                guard unsafe Decimals.split(part, count: count, digits: digits, to: scratch, memory) else { return nil }
                let (scaled, rest) = unsafe (UnsafeRawBufferPointer(scratch), UnsafeRawBufferPointer(memory))
                let decimals = unsafe NumberPlanes.measure(scaled, count: count, stride: 8, as: UInt64.self)
                let corrections = unsafe NumberPlanes.measure(rest, count: count, stride: 8, as: UInt64.self)
                let end = 1 + decimals.size(count)
                let size = end + corrections.size(count)
                guard size < numbers.size(count), unsafe isShorter(size, than: part) else { return nil }
                guard let segment = unsafe begin(.decimals, part.count, size: size) else { return false }
                unsafe segment.set(UInt8(digits), at: 0)
                unsafe decimals.write(scaled, count: count, stride: 8, as: UInt64.self, to: segment.part(1..<segment.count))
                unsafe corrections.write(rest, count: count, stride: 8, as: UInt64.self, to: segment.part(end..<segment.count))
                used += size
                return true
            }
            if let isAdded { return isAdded }
        }
        if numbers.planes.nonzeroBitCount > 4, let size = unsafe HalfByteText.write(part, to: scratch), unsafe isShorter(size, than: part) {
            return addSegment(.text, part.count, size)
        }
        return addNumbers(count, as: UInt64.self)
    }

    /// A segment whose bytes are in the scratch memory.
    private mutating func addSegment(_ method: SegmentMethod, _ bytes: Int, _ size: Int) -> Bool {
        guard let segment = unsafe begin(method, bytes, size: size) else { return false }
        unsafe segment.part(0..<size).copyMemory(from: UnsafeRawBufferPointer(scratch.part(0..<size)))
        used += size
        return true
    }

    // MARK: Texts

    private mutating func addText(_ count: Int) -> Bool {
        let part = unsafe source.part(start..<start + count)
        guard let size = unsafe HalfByteText.write(part, to: scratch), unsafe isShorter(size, than: part) else { return leave(count) }
        return addSegment(.text, count, size)
    }

    // MARK: Cells

    private mutating func addCells(_ count: Int, _ end: Int) -> Bool {
        let part = unsafe source.part(start..<start + 4 * count)
        guard count >= SegmentWriter.countMin, unsafe HeapCells.writeWords(part, count: count, end: end, to: scratch) else { return leave(part.count) }
        let words = unsafe UnsafeRawBufferPointer(scratch)
        let numbers = unsafe NumberPlanes.measure(words, count: count, stride: 2, as: UInt16.self)
        let size = 2 + numbers.size(count)
        guard let segment = unsafe begin(.cells, part.count, size: size) else { return false }
        unsafe segment.set(UInt16(end), at: 0)
        unsafe numbers.write(words, count: count, stride: 2, as: UInt16.self, to: segment.part(2..<segment.count))
        used += size
        return true
    }

    private mutating func addSlots(_ count: Int, _ end: Int) -> Bool {
        let part = unsafe source.part(start..<start + 6 * count)
        guard count >= SegmentWriter.countMin, unsafe HeapCells.predictsSlots(part, count: count, end: end) else { return leave(part.count) }
        let rests = unsafe part.part(2..<part.count)
        let values = unsafe part.part(4..<part.count)
        let restNumbers = unsafe NumberPlanes.measure(rests, count: count, stride: 6, as: UInt16.self)
        let valueNumbers = unsafe NumberPlanes.measure(values, count: count, stride: 6, as: UInt16.self)
        let restSize = restNumbers.size(count)
        let size = 2 + restSize + valueNumbers.size(count)
        guard let segment = unsafe begin(.slots, part.count, size: size) else { return false }
        unsafe segment.set(UInt16(end), at: 0)
        unsafe restNumbers.write(rests, count: count, stride: 6, as: UInt16.self, to: segment.part(2..<segment.count))
        unsafe valueNumbers.write(values, count: count, stride: 6, as: UInt16.self, to: segment.part(2 + restSize..<segment.count))
        used += size
        return true
    }

    // MARK: Entries

    private mutating func addEntries(_ bytes: Int, _ count: Int, _ slots: Int) -> Bool {
        let heap = unsafe source.part(start..<start + bytes)
        let cells = unsafe source.part(slots..<slots + 6 * count)
        guard bytes > 0, count >= SegmentWriter.countMin, let shape = unsafe HeapEntries.shape(cells, count: count, bytes: bytes) else { return leave(bytes) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 16) { parts in
            unsafe HeapEntries.split(heap, cells, shape, count: count, to: parts)
            // The segment: u16 slots | u16 count | u16 bytes of a value | a segment of tails | a segment of values.
            let saved = self
            guard let segment = unsafe begin(.entries, bytes, size: 6) else { return false }
            unsafe segment.set(UInt16(slots), at: 0)
            unsafe segment.set(UInt16(count), at: 2)
            unsafe segment.set(UInt16(shape.valueBytes), at: 4)
            used += 6
            var inner = unsafe SegmentWriter(source: UnsafeRawBufferPointer(parts.part(0..<bytes)), target: target, scratch: scratch)
            inner.used = used
            guard inner.addTails(shape.tailBytes, count), inner.flush(),
                shape.valueBytes == 8 ? inner.addNumbers(count, as: UInt64.self) : inner.addRecords(count, shape.valueBytes), inner.flush()
            else {
                self = saved
                return leave(bytes)
            }
            used = inner.used
            return true
        }
    }

    /// Tails of keys: texts, or records of one length.
    private mutating func addTails(_ bytes: Int, _ count: Int) -> Bool {
        guard bytes > 0 else { return true }
        let part = unsafe source.part(start..<start + bytes)
        if let size = unsafe HalfByteText.write(part, to: scratch), unsafe isShorter(size, than: part) { return addSegment(.text, bytes, size) }
        return bytes % count == 0 ? addRecords(count, bytes / count) : leave(bytes)
    }

    /// Records of one length, byte by byte.
    private mutating func addRecords(_ count: Int, _ width: Int) -> Bool {
        guard width > 1, width <= SegmentWriter.recordBytesMax else { return leave(count * width) }
        let size = 1 + count * width
        guard let segment = unsafe begin(.records, count * width, size: size) else { return false }
        unsafe segment.set(UInt8(width), at: 0)
        let origin = start - count * width
        var place = 1
        for byte in 0..<width {
            for i in 0..<count { unsafe segment[place + i] = source[origin + i * width + byte] }
            place += count
        }
        used += size
        return true
    }

    /// True if a segment of `size` bytes is shorter than an LZ4 block of its bytes. Compresses only a sample of them, and none if the segment saves two
    /// thirds.
    private func isShorter(_ size: Int, than part: UnsafeRawBufferPointer) -> Bool {
        guard size < part.count * 7 / 8 else { return false }
        if size < part.count / 3 { return true }
        let sample = min(part.count, SegmentWriter.sampleBytes)
        return unsafe withUnsafeTemporaryAllocation(byteCount: sample, alignment: 16) { room in
            let goal = unsafe room.part(0..<size * sample / part.count)
            return unsafe LZ4.compress(part.part(0..<sample), into: goal) == nil
        }
    }
}
