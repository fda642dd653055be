internal import Foundation

/// Encodes decimals so that the bytes sort in the order of the numbers, and equal numbers have equal bytes.
///
///     not a number   00
///     negative       01, then the bytes of the magnitude, each complemented
///     zero           02
///     positive       03, then the magnitude:
///                    exponent of the first digit + 0x8000 (2 bytes, most significant first),
///                    two digits per byte as 10 × first + second + 1, without trailing zeros, then 00
enum DecimalCode {
    static let notANumber: [UInt8] = [0x00]

    static func append(_ value: Decimal, to bytes: inout [UInt8]) {
        if value.isNaN { return bytes += notANumber }
        if value.isZero { return bytes.append(0x02) }
        let isNegative = value.sign == .minus
        bytes.append(isNegative ? 0x01 : 0x03)
        let start = bytes.count
        appendMagnitude(value, to: &bytes)
        guard isNegative else { return }
        for i in start ..< bytes.count { bytes[i] = ~bytes[i] }
    }

    private static func appendMagnitude(_ value: Decimal, to bytes: inout [UInt8]) {
        var digits = value.significand.description.utf8.compactMap { $0 >= 48 && $0 < 58 ? $0 - 48 : nil }
        let place = value.exponent + digits.count + 0x8000
        while digits.last == 0 { digits.removeLast() }
        bytes.append(UInt8(truncatingIfNeeded: place >> 8))
        bytes.append(UInt8(truncatingIfNeeded: place))
        for i in stride(from: 0, to: digits.count, by: 2) {
            let second = i + 1 < digits.count ? digits[i + 1] : 0
            bytes.append(digits[i] * 10 + second + 1)
        }
        bytes.append(0)
    }

    /// The digits of the largest decimal, 2¹²⁸ − 1 with the largest exponent.
    private static let digitsMax = 39

    /// Nil when the bytes do not encode a decimal.
    static func decode(_ bytes: some Collection<UInt8>) -> Decimal? {
        guard let kind = bytes.first else { return nil }
        switch kind {
        case 0x00: return Decimal.nan
        case 0x02: return Decimal.zero
        case 0x01, 0x03: return magnitude(bytes.dropFirst(), isNegative: kind == 0x01)
        default: return nil
        }
    }

    private static func magnitude(_ bytes: some Collection<UInt8>, isNegative: Bool) -> Decimal? {
        let flip: UInt8 = isNegative ? 0xFF : 0
        let plain = bytes.map { $0 ^ flip }
        guard plain.count >= 4, plain.last == 0 else { return nil }
        var text = isNegative ? "-" : ""
        for pair in plain[2 ..< plain.count - 1] {
            guard pair >= 1, pair <= 100 else { return nil }
            text += "\((pair - 1) / 10)\((pair - 1) % 10)"
        }
        let place = (Int(plain[0]) << 8 | Int(plain[1])) - 0x8000
        var exponent = place - 2 * (plain.count - 3)
        // The second digit of the last byte can be a filler, and zeros at the end were left out. With the filler or without the zeros, the exponent
        // can be outside of the range from −128 to 127 that decimals have.
        if text.last == "0" {
            text.removeLast()
            exponent += 1
        }
        while exponent > 127, text.utf8.count < digitsMax + (isNegative ? 1 : 0) {
            text.append("0")
            exponent -= 1
        }
        return Decimal(string: "\(text)e\(exponent)")
    }
}
