// Texts of mostly sixteen different bytes, four bits for each byte.
//
//   u16 exceptions | 16 alphabet | half bytes | distance of each exception | byte of each exception
//
// Blocks of 32 bytes, the last one shorter: the first half of a block is in the low halves of its bytes, the second half in the high ones. So
// a reader widens 16 bytes at a time. An exception is a byte that is not in the alphabet. Its distance to the one before it is at most 255; an
// exception with a byte of the alphabet fills a larger distance.

/// Texts with a small alphabet.
enum HalfByteText {
    private static let headerBytes = 18
    /// Shorter texts are left as they are. The exceptions of longer ones have room in a target of their size.
    private static let bytesMin = 80
    private static let exceptionCode: UInt8 = 0x80
    private static let exceptionBits: UInt64 = 0x8080_8080_8080_8080
    private static let halfBits: UInt64 = 0x0F0F_0F0F_0F0F_0F0F

    private static func storedBytes(_ count: Int) -> Int { count / 32 * 16 + (count % 32 + 1) / 2 }

    /// Writes texts to a target of at least the same size. Nil if they have too many different bytes.
    static func write(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer) -> Int? {
        let count = source.count
        guard count >= bytesMin, count <= target.count, let alphabet = unsafe alphabet(of: source) else { return nil }
        for code in 0..<16 { unsafe target[2 + code] = alphabet[code] }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) { codes in
            unsafe codes.initializeMemory(as: UInt8.self, repeating: exceptionCode)
            for code in 0..<16 { unsafe codes[Int(alphabet[code])] = UInt8(code) }
            var exceptions = unsafe Exceptions(source: source, target: target, start: headerBytes + storedBytes(count))
            let whole = count & ~31
            var place = headerBytes
            for start in stride(from: 0, to: whole, by: 32) {
                let low = unsafe (eightCodes(source, at: start, codes), eightCodes(source, at: start + 8, codes))
                let high = unsafe (eightCodes(source, at: start + 16, codes), eightCodes(source, at: start + 24, codes))
                unsafe target.set(low.0 & halfBits | (high.0 & halfBits) << 4, at: place)
                unsafe target.set(low.1 & halfBits | (high.1 & halfBits) << 4, at: place + 8)
                place += 16
                guard (low.0 | low.1 | high.0 | high.1) & exceptionBits != 0 else { continue }
                guard exceptions.add(low.0, at: start), exceptions.add(low.1, at: start + 8),
                    exceptions.add(high.0, at: start + 16), exceptions.add(high.1, at: start + 24)
                else { return nil }
            }
            let half = (count - whole + 1) / 2
            for j in whole..<count {
                let code = unsafe codes[Int(source[j])]
                let i = j - whole
                if i < half { unsafe target[place + i] = code & 15 } else { unsafe target[place + i - half] |= code << 4 }
                guard code != exceptionCode || exceptions.add(j) else { return nil }
            }
            return exceptions.finish()
        }
    }

    /// The codes of eight bytes, the first one in the lowest byte.
    @inline(__always)
    private static func eightCodes(_ source: UnsafeRawBufferPointer, at start: Int, _ codes: UnsafeMutableRawBufferPointer) -> UInt64 {
        let bytes = unsafe source.integer(at: start, as: UInt64.self)
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { result |= UInt64(unsafe codes[Int(bytes &>> shift & 0xFF)]) &<< shift }
        return result
    }

    /// The exceptions while texts are written. Safe: `write` lends all memory. Their bytes have a place behind all distances until their number is known.
    @safe private struct Exceptions {
        let source: UnsafeRawBufferPointer
        let target: UnsafeMutableRawBufferPointer
        let start: Int
        var count = 0
        var last = -1

        init(source: UnsafeRawBufferPointer, target: UnsafeMutableRawBufferPointer, start: Int) {
            unsafe self.source = source
            unsafe self.target = target
            self.start = start
        }

        private var countMax: Int { unsafe source.count / 8 }

        /// Adds those among eight codes. False if there are too many.
        mutating func add(_ codes: UInt64, at start: Int) -> Bool {
            var found = codes & exceptionBits
            while found != 0 {
                guard add(start + found.trailingZeroBitCount / 8) else { return false }
                found &= found - 1
            }
            return true
        }

        /// False if there are too many.
        mutating func add(_ place: Int) -> Bool {
            while place - last > 255 { guard append(last + 255) else { return false } }
            return append(place)
        }

        private mutating func append(_ place: Int) -> Bool {
            guard count < countMax else { return false }
            unsafe target[start + count] = UInt8(place - last)
            unsafe target[start + countMax + count] = source[place]
            last = place
            count += 1
            return true
        }

        func finish() -> Int {
            unsafe target.set(UInt16(count), at: 0)
            for n in 0..<count { unsafe target[start + count + n] = target[start + countMax + n] }
            return start + 2 * count
        }
    }

    /// The sixteen most frequent bytes of the beginning, ascending; nil if it has many others.
    private static func alphabet(of source: UnsafeRawBufferPointer) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { counts in
            unsafe counts.initialize(repeating: 0)
            let sample = min(source.count, 1024)
            for i in 0..<sample { unsafe counts[Int(source[i])] &+= 1 }
            var found: [UInt8] = []
            for byte in 0..<256 where unsafe counts[byte] > 0 {
                guard found.count < 32 else { return nil }
                found.append(UInt8(byte))
            }
            if found.count > 16 {
                found.sort { unsafe counts[Int($0)] > counts[Int($1)] }
                guard found[16...].reduce(0, { unsafe $0 + Int(counts[Int($1)]) }) < sample / 8 else { return nil }
                found = found.prefix(16).sorted()
            }
            return found + [UInt8](repeating: found[0], count: 16 - found.count)
        }
    }

    /// Reads texts of `target.count` bytes. Returns the bytes that they took; nil if they are invalid.
    static func read(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer) -> Int? {
        let count = target.count
        guard let end = unsafe storedBytes(source, count: count) else { return nil }
        let stored = storedBytes(count)
        let exceptions = Int(unsafe source.integer(at: 0, as: UInt16.self))
        unsafe widen(source.part(headerBytes..<headerBytes + stored), source.part(2..<headerBytes), to: target)
        var place = -1
        for n in 0..<exceptions {
            place += Int(unsafe source[headerBytes + stored + n])
            guard place >= 0, place < count else { return nil }
            unsafe target[place] = source[headerBytes + stored + exceptions + n]
        }
        return end
    }

    /// The bytes of texts of `count` bytes; nil if the source is shorter.
    static func storedBytes(_ source: UnsafeRawBufferPointer, count: Int) -> Int? {
        guard source.count >= headerBytes else { return nil }
        let end = headerBytes + storedBytes(count) + 2 * Int(unsafe source.integer(at: 0, as: UInt16.self))
        return source.count >= end ? end : nil
    }

    /// A byte of the alphabet is its first byte, plus its index, plus the gaps between its bytes before. Alphabets have few gaps, and
    /// all additions are made for 16 bytes at a time.
    private static func widen(
        _ source: UnsafeRawBufferPointer, _ alphabet: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) {
        unsafe withUnsafeTemporaryAllocation(of: SIMD16<UInt8>.self, capacity: 32) { gaps in
            var gapCount = 0
            for code in 1..<16 {
                let gap = unsafe alphabet[code] &- alphabet[code - 1] &- 1
                guard gap != 0 else { continue }
                unsafe gaps[2 * gapCount] = SIMD16(repeating: UInt8(code - 1))
                unsafe gaps[2 * gapCount + 1] = SIMD16(repeating: gap)
                gapCount += 1
            }
            let first = SIMD16<UInt8>(repeating: unsafe alphabet[0])
            var place = 0
            var start = 0
            while start + 32 <= target.count {
                let bytes = unsafe source.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self)
                let low = bytes & 15
                let high = bytes &>> 4
                var lowBytes = low &+ first
                var highBytes = high &+ first
                for n in 0..<gapCount {
                    let (code, gap) = unsafe (gaps[2 * n], gaps[2 * n + 1])
                    lowBytes.replace(with: lowBytes &+ gap, where: low .> code)
                    highBytes.replace(with: highBytes &+ gap, where: high .> code)
                }
                unsafe target.storeBytes(of: lowBytes, toByteOffset: start, as: SIMD16<UInt8>.self)
                unsafe target.storeBytes(of: highBytes, toByteOffset: start + 16, as: SIMD16<UInt8>.self)
                start += 32
                place += 16
            }
            let rest = target.count - start
            let half = (rest + 1) / 2
            for j in 0..<rest {
                let byte = unsafe source[place + (j < half ? j : j - half)]
                unsafe target[start + j] = alphabet[Int(j < half ? byte & 15 : byte >> 4)]
            }
        }
    }
}
