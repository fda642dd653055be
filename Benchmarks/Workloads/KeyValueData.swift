/// Records of a 16-byte key and a 150-byte value that looks like a record of text and numbers.
final class KeyValueData {
    static let keyBytes = 16
    static let valueBytes = 150

    let count: Int
    private let keys: UnsafeMutableRawPointer
    private let values: UnsafeMutableRawPointer
    /// The records in another order than that of their keys, in which they are in memory.
    let shuffled: [Int]

    init(count: Int) {
        self.count = count
        keys = .allocate(byteCount: count * Self.keyBytes, alignment: 16)
        let values = UnsafeMutableRawPointer.allocate(byteCount: count * Self.valueBytes, alignment: 16)
        self.values = values
        var random = SplitMix(1)
        for (i, head) in (0..<count).map({ _ in random.next() }).sorted().enumerated() {
            keys.storeBytes(of: head.bigEndian, toByteOffset: i * Self.keyBytes, as: UInt64.self)
            keys.storeBytes(of: UInt64(i).bigEndian, toByteOffset: i * Self.keyBytes + 8, as: UInt64.self)
        }
        for (i, event) in EventGenerator(count: count).enumerated() {
            var text = "\(event.uid)|\(event.latitude)|\(event.longitude)|\(event.created)|\(event.name)|\(event.magnitude)|"
            while text.utf8.count < Self.valueBytes { text += String(random.next(), radix: 32) + " and so on | " }
            text.withUTF8 { values.advanced(by: i * Self.valueBytes).copyMemory(from: $0.baseAddress!, byteCount: Self.valueBytes) }
        }
        shuffled = (0..<count).shuffled(using: &random)
    }

    deinit {
        keys.deallocate()
        values.deallocate()
    }

    @inline(__always)
    func key(_ i: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: keys + i * Self.keyBytes, count: Self.keyBytes)
    }

    @inline(__always)
    func value(_ i: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: values + i * Self.valueBytes, count: Self.valueBytes)
    }

    /// Record numbers in random order, with repetitions.
    func sample(_ count: Int, seed: UInt64) -> [Int] {
        var random = SplitMix(seed)
        return (0..<count).map { _ in Int(random.next() % UInt64(self.count)) }
    }
}

/// The digest of a value. The loops of all contestants compute it, so that they must read the value.
@inline(__always)
func digest(_ value: UnsafeRawBufferPointer) -> UInt64 {
    value.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        &+ value.loadUnaligned(fromByteOffset: value.count - 8, as: UInt64.self) &+ UInt64(value.count)
}
