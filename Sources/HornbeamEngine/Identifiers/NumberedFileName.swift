// Numbers as text: in the names of files, and in messages and dumps.

/// `prefix` followed by 16 decimal digits, so that names and numbers have the same order.
func numberedFileName(_ prefix: String, _ number: UInt64) -> String {
    let digits = String(number)
    return prefix + String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
}

/// The number in a name made by `numberedFileName`; nil for anything else.
func number(ofFileName name: String, prefix: String) -> UInt64? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count)
    guard digits.utf8.count == 16, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return UInt64(digits)
}

/// Sixteen hexadecimal digits, for checks in messages and dumps.
func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
