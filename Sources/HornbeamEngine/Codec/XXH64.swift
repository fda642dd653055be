// XXH64, the check of every page, log frame and meta block: 64 bits, four independent lanes over 32-byte stripes.
// The format fixes the algorithm; the tests compare it with the public test vectors. It detects accidents and is no signature.

/// The XXH64 hash.
package enum XXH64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The hash of the buffer's bytes. O(n), about 20 GB/s.
    package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        guard let start = bytes.baseAddress else { return finish(short(0, seed: seed)) }
        let count = bytes.count
        guard count >= 32 else {
            return unsafe finish(tail(short(count, seed: seed), start, count))
        }
        var lanes = Lanes(seed: seed)
        let striped = count & ~31
        unsafe lanes.consume(start, striped)
        let sum = lanes.merged &+ UInt64(truncatingIfNeeded: count)
        return unsafe finish(tail(sum, start + striped, count - striped))
    }

    /// The hash of `head` followed by `tail`, without copying the tail. The head is at most 64 bytes.
    package static func hash(
        _ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer, seed: UInt64
    ) -> UInt64 {
        precondition(head.count <= 64, "The head of a two-part hash is at most 64 bytes.")
        // Copies the head, and those bytes of the tail that complete its last stripe.
        let headCount = head.count
        guard headCount > 0 else { return unsafe hash(tail, seed: seed) }
        let borrowed = min((32 - headCount & 31) & 31, tail.count)
        return unsafe withUnsafeTemporaryAllocation(byteCount: 96, alignment: 8) { seam in
            unsafe seam.copyMemory(from: head)
            if borrowed > 0 {
                unsafe UnsafeMutableRawBufferPointer(rebasing: seam[headCount...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: tail[..<borrowed]))
            }
            let seamCount = headCount + borrowed
            let whole = unsafe UnsafeRawBufferPointer(rebasing: seam[..<seamCount])
            let rest = unsafe UnsafeRawBufferPointer(rebasing: tail[borrowed...])
            guard seamCount & 31 == 0 else { return unsafe hash(whole, seed: seed) }
            return unsafe hash(stripes: whole, rest: rest, seed: seed)
        }
    }

    /// `stripes` is a positive multiple of 32 bytes.
    private static func hash(
        stripes: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer, seed: UInt64
    ) -> UInt64 {
        var lanes = Lanes(seed: seed)
        unsafe lanes.consume(stripes.baseAddress!, stripes.count)
        let restCount = rest.count
        let striped = restCount & ~31
        if striped > 0 { unsafe lanes.consume(rest.baseAddress!, striped) }
        let sum = lanes.merged &+ UInt64(truncatingIfNeeded: stripes.count + restCount)
        guard let start = rest.baseAddress else { return finish(sum) }
        return unsafe finish(tail(sum, start + striped, restCount - striped))
    }

    private static func short(_ count: Int, seed: UInt64) -> UInt64 {
        seed &+ prime5 &+ UInt64(truncatingIfNeeded: count)
    }

    /// Mixes in the last 0 to 31 bytes.
    private static func tail(_ sum: UInt64, _ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        var hash = sum
        var offset = 0
        while offset + 8 <= count {
            hash ^= unsafe round(0, load(start, offset))
            hash = rotated(hash, 27) &* prime1 &+ prime4
            offset += 8
        }
        if offset + 4 <= count {
            let word = unsafe start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            hash ^= UInt64(UInt32(littleEndian: word)) &* prime1
            hash = rotated(hash, 23) &* prime2 &+ prime3
            offset += 4
        }
        while offset < count {
            hash ^= unsafe UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) &* prime5
            hash = rotated(hash, 11) &* prime1
            offset += 1
        }
        return hash
    }

    private static func finish(_ sum: UInt64) -> UInt64 {
        #if HORNBEAM_FUZZING
        // A fuzzer cannot guess checks. With a constant check, its inputs reach the decoders.
        return 0
        #else
        var hash = sum
        hash = (hash ^ hash >> 33) &* prime2
        hash = (hash ^ hash >> 29) &* prime3
        return hash ^ hash >> 32
        #endif
    }

    @inline(__always)
    private static func load(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func rotated(_ value: UInt64, _ bits: UInt64) -> UInt64 {
        value &<< bits | value &>> (64 &- bits)
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    /// The four running sums.
    private struct Lanes {
        var a, b, c, d: UInt64

        init(seed: UInt64) {
            a = seed &+ prime1 &+ prime2
            b = seed &+ prime2
            c = seed
            d = seed &- prime1
        }

        /// `count` is a multiple of 32.
        @inline(__always)
        mutating func consume(_ start: UnsafeRawPointer, _ count: Int) {
            var (a, b, c, d) = (self.a, self.b, self.c, self.d)
            var offset = 0
            while offset < count {
                unsafe a = round(a, load(start, offset))
                unsafe b = round(b, load(start, offset &+ 8))
                unsafe c = round(c, load(start, offset &+ 16))
                unsafe d = round(d, load(start, offset &+ 24))
                offset &+= 32
            }
            (self.a, self.b, self.c, self.d) = (a, b, c, d)
        }

        var merged: UInt64 {
            var sum = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            sum = (sum ^ round(0, a)) &* prime1 &+ prime4
            sum = (sum ^ round(0, b)) &* prime1 &+ prime4
            sum = (sum ^ round(0, c)) &* prime1 &+ prime4
            sum = (sum ^ round(0, d)) &* prime1 &+ prime4
            return sum
        }
    }
}
