// Numbers of equal width as differences to a base, or to their predecessors, byte plane by byte plane. Planes of zeros are not stored.
//
//   u8 form | u8 planes (a bit each) | 8 base | 8 first (form 1) | the bytes of plane 0 | plane 1 | …
//
// Form 0: number = base + difference. Form 1: number 0 is `first`, number i is number i − 1 + base + difference. Sums wrap around.

/// The stored form of a sequence of numbers.
struct NumberPlanes {
    static let differences: UInt8 = 0
    static let steps: UInt8 = 1

    var form: UInt8
    var base: UInt64
    var first: UInt64 = 0
    /// All bits that are set in a difference.
    var bits: UInt64

    var planes: UInt8 {
        var mask: UInt8 = 0
        for plane in 0..<8 where bits >> UInt64(8 * plane) & 0xFF != 0 { mask |= 1 << UInt8(plane) }
        return mask
    }

    var headerBytes: Int { form == NumberPlanes.steps ? 18 : 10 }

    /// The bytes of a sequence of `count` numbers.
    func size(_ count: Int) -> Int {
        headerBytes + planes.nonzeroBitCount * count
    }
}

extension NumberPlanes {
    /// The shortest form of numbers; `stride` bytes lie between two of them.
    static func measure<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ source: UnsafeRawBufferPointer, count: Int, stride: Int, as type: T.Type
    ) -> NumberPlanes {
        let top = T(1) << T(T.bitWidth - 1)
        let first = unsafe source.integer(at: 0, as: T.self)
        // Signed order is unsigned order after the top bit is flipped. Differences to the first number order signed and unsigned numbers alike. If they
        // exceed half of the range, the base is any of the numbers, and the planes may be more.
        var (low, lowStep) = (top, T.max)
        var previous = first
        var offset = stride
        for _ in 1..<count {
            let value = unsafe source.integer(at: offset, as: T.self)
            offset &+= stride
            low = min(low, (value &- first) ^ top)
            lowStep = min(lowStep, (value &- previous) ^ top)
            previous = value
        }
        let base = first &+ (low ^ top)
        let stepBase = lowStep ^ top
        var bits = T(0)
        var stepBits = T(0)
        previous = first
        offset = 0
        for i in 0..<count {
            let value = unsafe source.integer(at: offset, as: T.self)
            offset &+= stride
            bits |= value &- base
            if i > 0 { stepBits |= value &- previous &- stepBase }
            previous = value
        }
        let plain = NumberPlanes(form: differences, base: UInt64(base), bits: UInt64(bits))
        if count < 2 || bits == 0 { return plain }
        let stepped = NumberPlanes(form: steps, base: UInt64(stepBase), first: UInt64(first), bits: UInt64(stepBits))
        return stepped.size(count) < plain.size(count) ? stepped : plain
    }

    /// Writes the sequence. The target has room for `size`.
    func write<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ source: UnsafeRawBufferPointer, count: Int, stride: Int, as type: T.Type, to target: UnsafeMutableRawBufferPointer
    ) {
        unsafe target.set(form, at: 0)
        unsafe target.set(planes, at: 1)
        unsafe target.set(base, at: 2)
        if form == NumberPlanes.steps { unsafe target.set(first, at: 10) }
        var end = headerBytes
        let base = T(truncatingIfNeeded: base)
        for plane in 0..<8 where planes >> UInt8(plane) & 1 == 1 {
            let shift = T(8 * plane)
            var previous = T(truncatingIfNeeded: first) &- base
            if form == NumberPlanes.steps {
                for i in 0..<count {
                    let value = unsafe source.integer(at: i * stride, as: T.self)
                    unsafe target.set(UInt8(truncatingIfNeeded: (value &- previous &- base) >> shift), at: end + i)
                    previous = value
                }
            } else {
                for i in 0..<count {
                    let value = unsafe source.integer(at: i * stride, as: T.self)
                    unsafe target.set(UInt8(truncatingIfNeeded: (value &- base) >> shift), at: end + i)
                }
            }
            end += count
        }
    }

    /// Reads a sequence to every `stride`-th byte of the target, which has room for `count` numbers. Returns the bytes that it took; nil if the
    /// bytes are no sequence of this width.
    static func read<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ source: UnsafeRawBufferPointer, count: Int, stride: Int, as type: T.Type, to target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard let size = unsafe storedBytes(source, count: count, width: T.bitWidth / 8) else { return nil }
        let form = unsafe source[0]
        let planes = unsafe source[1]
        let base = T(truncatingIfNeeded: unsafe source.integer(at: 2, as: UInt64.self))
        let bytes = unsafe source.part(size - planes.nonzeroBitCount * count..<size)
        unsafe readPlanes(bytes, planes, form == steps ? 0 : base, count: count, stride: stride, to: target)
        if form == steps {
            let first = T(truncatingIfNeeded: unsafe source.integer(at: 10, as: UInt64.self))
            unsafe addSteps(first, base, count: count, stride: stride, to: target)
        }
        return size
    }

    /// The bytes of a sequence of `count` numbers; nil if the source is no sequence of this width, or is shorter.
    static func storedBytes(_ source: UnsafeRawBufferPointer, count: Int, width: Int) -> Int? {
        guard source.count >= 10, count > 0 else { return nil }
        let form = unsafe source[0]
        let planes = unsafe source[1]
        let size = (form == steps ? 18 : 10) + planes.nonzeroBitCount * count
        guard form <= steps, Int(planes) < 1 << width, source.count >= size else { return nil }
        return size
    }

    private static func readPlanes<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ source: UnsafeRawBufferPointer, _ planes: UInt8, _ base: T, count: Int, stride: Int, to target: UnsafeMutableRawBufferPointer
    ) {
        // The first plane replaces what is in the target.
        var offset = 0
        if planes == 0 {
            for _ in 0..<count {
                unsafe target.set(base, at: offset)
                offset &+= stride
            }
        }
        var place = 0
        for plane in 0..<T.bitWidth / 8 where planes >> UInt8(plane) & 1 == 1 {
            let shift = T(8 * plane)
            let bytes = unsafe source.part(place..<place + count)
            offset = 0
            if place == 0 {
                for i in 0..<count {
                    unsafe target.set(base &+ T(bytes[i]) &<< shift, at: offset)
                    offset &+= stride
                }
            } else {
                for i in 0..<count {
                    unsafe target.set(target.integer(at: offset, as: T.self) &+ T(bytes[i]) &<< shift, at: offset)
                    offset &+= stride
                }
            }
            place += count
        }
    }

    /// Replaces differences of steps by numbers.
    private static func addSteps<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ first: T, _ base: T, count: Int, stride: Int, to target: UnsafeMutableRawBufferPointer
    ) {
        var value = first &- base
        var offset = 0
        for _ in 0..<count {
            value = value &+ base &+ (unsafe target.integer(at: offset, as: T.self))
            unsafe target.set(value, at: offset)
            offset &+= stride
        }
    }
}
