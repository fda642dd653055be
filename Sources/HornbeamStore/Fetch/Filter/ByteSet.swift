internal import Foundation

/// A hash set of texts as bytes. A lookup does not copy the searched bytes.
struct ByteSet: Sendable {
    private let texts: [[UInt8]]
    /// Positions in `texts` by hash, -1 for empty slots. The number of slots is a power of two; at most half of them are used.
    private let slots: [Int32]

    init(_ texts: Set<[UInt8]>) {
        let list = texts.sorted { $0.lexicographicallyPrecedes($1) }
        self.texts = list
        var size = 4
        while size < list.count * 2 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for (place, text) in list.enumerated() {
            var slot = unsafe text.withUnsafeBytes { unsafe Self.hash($0) } & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(place)
        }
        self.slots = slots
    }

    func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var slot = unsafe Self.hash(bytes) & (slots.count - 1)
        while slots[slot] >= 0 {
            let text = texts[Int(slots[slot])]
            if text.count == bytes.count, unsafe bytes.isEmpty || memcmp(text, bytes.baseAddress!, bytes.count) == 0 { return true }
            slot = (slot + 1) & (slots.count - 1)
        }
        return false
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for unsafe byte in unsafe bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
