extension Folding {
    /// A key whose byte order is the order of `.localizedStandard`: without case and marks, with
    /// runs of digits by value; texts that are then equal are ordered by their bytes.
    ///
    /// The order is the same for all locales, so that a store sorts in the same way everywhere.
    package static func localizedStandardKey(_ text: some Collection<UInt8>) -> [UInt8] {
        let folded = fold(text, caseInsensitive: true, diacriticInsensitive: true)
        var key: [UInt8] = []
        key.reserveCapacity(folded.count + text.count + 4)
        var index = 0
        while index < folded.count {
            guard isDigit(folded[index]) else {
                key.append(folded[index])
                index += 1
                continue
            }
            let start = index
            while index < folded.count, isDigit(folded[index]) { index += 1 }
            appendNumber(folded[start..<index], to: &key)
        }
        key.append(0)
        key.append(contentsOf: text)
        return key
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    /// Appends a run of digits: the digit zero, so that numbers have the position of digits among other characters; the
    /// number of digits without leading zeros, as a byte 255 for each 253 digits before the last 1 to 253; these digits.
    private static func appendNumber(_ digits: ArraySlice<UInt8>, to key: inout [UInt8]) {
        let value = digits.drop { $0 == UInt8(ascii: "0") }
        key.append(UInt8(ascii: "0"))
        var count = value.count
        while count > 253 {
            key.append(255)
            count -= 253
        }
        key.append(UInt8(count) + 1)
        key.append(contentsOf: value)
    }

    /// The order of two texts under `.localizedStandard`.
    package static func localizedStandardOrder(_ a: String, _ b: String) -> ValueOrder {
        let (x, y) = (localizedStandardKey(a.utf8), localizedStandardKey(b.utf8))
        if x == y { return .same }
        return x.lexicographicallyPrecedes(y) ? .less : .greater
    }
}
