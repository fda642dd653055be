// Doubles that are decimal fractions with few digits, as integers.
//
//   u8 digits | the numbers · 10^digits, as number planes of width 8
//
// A double is stored so only if dividing the integer by the power of ten gives it again, bit by bit.

/// Columns of decimal fractions.
enum Decimals {
    /// The largest number of digits after the point.
    static let digitsMax = 9

    /// Writes the doubles as integers to `target`, eight bytes each, and returns their number of digits; nil if a double needs more digits than the
    /// maximum.
    static func scale(_ source: UnsafeRawBufferPointer, count: Int, to target: UnsafeMutableRawBufferPointer) -> Int? {
        var digits = 0
        var power = 1.0
        var i = 0
        while i < count {
            let bits = unsafe source.integer(at: 8 * i, as: UInt64.self)
            let scaled = (Double(bitPattern: bits) * power).rounded(.toNearestOrEven)
            // A comparison with a number that is not finite is false.
            guard abs(scaled) < 0x1p52 else { return nil }
            let number = Int64(scaled)
            if (Double(number) / power).bitPattern == bits {
                unsafe target.set(number, at: 8 * i)
                i += 1
            } else {
                guard digits < digitsMax else { return nil }
                digits += 1
                power *= 10
                // The numbers before have more digits now.
                i = 0
            }
        }
        return digits
    }

    /// Divides the integers of a buffer in place.
    static func unscale(_ target: UnsafeMutableRawBufferPointer, count: Int, digits: Int) {
        var power = 1.0
        for _ in 0..<digits { power *= 10 }
        for i in 0..<count {
            let number = unsafe target.integer(at: 8 * i, as: Int64.self)
            unsafe target.set((Double(number) / power).bitPattern, at: 8 * i)
        }
    }
}
