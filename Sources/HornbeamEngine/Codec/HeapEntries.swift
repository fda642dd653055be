// Entries in the heap of the leaf of an index, where tails and values alternate. In segments all tails come before all values, so that each
// kind has a method of its own.

/// The tails and the values of a leaf of an index.
enum HeapEntries {
    struct Shape {
        var tailBytes: Int
        var valueBytes: Int
    }

    /// The bits of a slot's last word that are the length of the value.
    private static let lengthBits: UInt16 = 0x7FFF

    /// The length of a rest without the eight bytes of its head.
    @inline(__always)
    static func tailLength(_ slots: UnsafeRawBufferPointer, _ i: Int) -> Int {
        max(Int(unsafe slots.integer(at: 6 * i + 2, as: UInt16.self)) - 8, 0)
    }

    @inline(__always)
    private static func valueLength(_ slots: UnsafeRawBufferPointer, _ i: Int) -> Int {
        Int(unsafe slots.integer(at: 6 * i + 4, as: UInt16.self) & lengthBits)
    }

    /// The bytes of an entry in the heap.
    @inline(__always)
    static func length(_ slots: UnsafeRawBufferPointer, _ i: Int) -> Int { unsafe tailLength(slots, i) + valueLength(slots, i) }

    /// The sizes of tails and values; nil unless all values have one length.
    static func shape(_ slots: UnsafeRawBufferPointer, count: Int, bytes: Int) -> Shape? {
        let value = unsafe valueLength(slots, 0)
        var tails = 0
        for i in 0..<count {
            guard unsafe valueLength(slots, i) == value else { return nil }
            tails += unsafe tailLength(slots, i)
        }
        return tails + count * value == bytes ? Shape(tailBytes: tails, valueBytes: value) : nil
    }

    /// Writes all tails, then all values, both from the last entry to the first.
    static func split(
        _ heap: UnsafeRawBufferPointer, _ slots: UnsafeRawBufferPointer, _ shape: Shape, count: Int, to target: UnsafeMutableRawBufferPointer
    ) {
        var place = 0
        var tails = 0
        var values = shape.tailBytes
        for i in (0..<count).reversed() {
            let tail = unsafe tailLength(slots, i)
            unsafe target.part(tails..<tails + tail).copyMemory(from: heap.part(place..<place + tail))
            place += tail
            unsafe target.part(values..<values + shape.valueBytes).copyMemory(from: heap.part(place..<place + shape.valueBytes))
            place += shape.valueBytes
            tails += tail
            values += shape.valueBytes
        }
    }

    /// Joins the tails and the values in `parts`, whose last 16 bytes are free. The caller has checked that the lengths add up to the heap.
    static func join(
        _ parts: UnsafeRawBufferPointer, _ slots: UnsafeRawBufferPointer, _ shape: Shape, count: Int, to heap: UnsafeMutableRawBufferPointer
    ) {
        var place = 0
        var tails = 0
        var values = shape.tailBytes
        let width = shape.valueBytes
        var i = count - 1
        // Copies 16 bytes at once; the following bytes overwrite the surplus.
        if width == 8 || width == 0 {
            while i >= 0 {
                let tail = unsafe tailLength(slots, i)
                guard place + tail + 32 <= heap.count else { break }
                var done = 0
                repeat {
                    let bytes = unsafe parts.loadUnaligned(fromByteOffset: tails + done, as: SIMD16<UInt8>.self)
                    unsafe heap.storeBytes(of: bytes, toByteOffset: place + done, as: SIMD16<UInt8>.self)
                    done += 16
                } while done < tail
                place += tail
                tails += tail
                if width == 8 {
                    unsafe heap.storeBytes(of: parts.loadUnaligned(fromByteOffset: values, as: UInt64.self), toByteOffset: place, as: UInt64.self)
                    place += 8
                    values += 8
                }
                i -= 1
            }
        }
        while i >= 0 {
            let tail = unsafe tailLength(slots, i)
            unsafe heap.part(place..<place + tail).copyMemory(from: parts.part(tails..<tails + tail))
            place += tail
            unsafe heap.part(place..<place + width).copyMemory(from: parts.part(values..<values + width))
            place += width
            tails += tail
            values += width
            i -= 1
        }
    }
}
