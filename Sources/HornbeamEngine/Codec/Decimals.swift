// Doubles near decimal fractions of few digits, as integers and corrections.
//
//   u8 digits | numbers, as planes of width 8 | corrections, as planes of width 8
//
// A double is its number divided by a power of ten; the correction is added to the bits of the quotient, so that every double is restored
// exactly. Corrections of decimal fractions are 0; those of their sums and differences are small.

/// Columns of decimal fractions.
enum Decimals {
    /// The largest number of digits after the point.
    static let digitsMax = 9
    /// The number of doubles that choose the digits of their column.
    private static let sampleCount = 16

    static func power(_ digits: Int) -> Double {
        var power = 1.0
        for _ in 0..<digits { power *= 10 }
        return power
    }

    /// The number and the correction of a double; nil if the number is too large.
    @inline(__always)
    private static func scaled(_ bits: UInt64, _ power: Double) -> (number: Int64, correction: Int64)? {
        // The sum has no bits for a fraction, so it is rounded. This needs no call, unlike `rounded()`.
        let scaled = Double(bitPattern: bits) * power + 0x1.8p52 - 0x1.8p52
        // The comparison is false for doubles that are not finite.
        guard abs(scaled) < 0x1p51 else { return nil }
        let number = Int64(scaled)
        return (number, Int64(bitPattern: bits &- (Double(number) / power).bitPattern))
    }

    /// The number of digits with which some doubles of a column take least room; nil if they have none.
    static func digits(_ source: UnsafeRawBufferPointer, count: Int) -> Int? {
        var best: (digits: Int, bits: Int)?
        let step = max(count / sampleCount, 1)
        for digits in 0...digitsMax {
            let power = power(digits)
            var (numbers, corrections): (UInt64, UInt64) = (0, 0)
            var isWhole = true
            for i in stride(from: 0, to: count, by: step) {
                guard let (number, correction) = scaled(unsafe source.integer(at: 8 * i), power) else {
                    isWhole = false
                    break
                }
                numbers |= number.magnitude
                corrections |= correction.magnitude
            }
            guard isWhole else { break }
            let bits = 128 - numbers.leadingZeroBitCount - corrections.leadingZeroBitCount
            if bits < best?.bits ?? 48 { best = (digits, bits) }
            if corrections == 0 { break }
        }
        return best?.digits
    }

    /// Writes numbers and corrections, eight bytes each. False if a number is too large.
    static func split(
        _ source: UnsafeRawBufferPointer, count: Int, digits: Int, to numbers: UnsafeMutableRawBufferPointer, _ corrections: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let power = power(digits)
        for i in 0..<count {
            guard let (number, correction) = scaled(unsafe source.integer(at: 8 * i), power) else { return false }
            unsafe numbers.set(number, at: 8 * i)
            unsafe corrections.set(correction, at: 8 * i)
        }
        return true
    }

    /// Replaces the numbers in a buffer by doubles.
    static func join(_ target: UnsafeMutableRawBufferPointer, _ corrections: UnsafeRawBufferPointer, count: Int, digits: Int) {
        let power = power(digits)
        for i in 0..<count {
            let number = unsafe target.integer(at: 8 * i, as: Int64.self)
            unsafe target.set((Double(number) / power).bitPattern &+ corrections.integer(at: 8 * i), at: 8 * i)
        }
    }
}
