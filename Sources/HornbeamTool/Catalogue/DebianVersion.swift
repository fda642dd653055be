/// The order of Debian version numbers, `[epoch:]upstream[-revision]`.
enum DebianVersion {
    /// Negative when `a` is earlier than `b`, 0 when they are equal, positive when it is later.
    static func compare(_ a: String, _ b: String) -> Int {
        if a == b { return 0 }
        var a = a
        var b = b
        return a.withUTF8 { a in
            b.withUTF8 { b in compare(Parts(a[...]), Parts(b[...])) }
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private struct Parts {
        var epoch = 0
        var upstream: Bytes
        var revision: Bytes

        init(_ text: Bytes) {
            upstream = text
            if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
                epoch = Int(String(decoding: text[..<colon], as: UTF8.self)) ?? 0
                upstream = text[(colon + 1)...]
            }
            revision = text[text.endIndex...]
            if let hyphen = upstream.lastIndex(of: UInt8(ascii: "-")) {
                revision = upstream[(hyphen + 1)...]
                upstream = upstream[..<hyphen]
            }
        }
    }

    private static func compare(_ a: Parts, _ b: Parts) -> Int {
        if a.epoch != b.epoch { return a.epoch < b.epoch ? -1 : 1 }
        let order = comparePart(a.upstream, b.upstream)
        return order != 0 ? order : comparePart(a.revision, b.revision)
    }

    /// Compares runs of non-digits and runs of digits alternately, as Debian Policy 5.6.12 specifies.
    private static func comparePart(_ a: Bytes, _ b: Bytes) -> Int {
        var a = a
        var b = b
        while !a.isEmpty || !b.isEmpty {
            while isNonDigit(a.first) || isNonDigit(b.first) {
                let difference = weight(a.first) - weight(b.first)
                if difference != 0 { return difference }
                a = a.dropFirst()
                b = b.dropFirst()
            }
            let difference = compareDigits(&a, &b)
            if difference != 0 { return difference }
        }
        return 0
    }

    private static func compareDigits(_ a: inout Bytes, _ b: inout Bytes) -> Int {
        let x = takeDigits(&a)
        let y = takeDigits(&b)
        if x.count != y.count { return x.count - y.count }
        for (p, q) in zip(x, y) where p != q { return Int(p) - Int(q) }
        return 0
    }

    /// The leading digits, without leading zeros.
    private static func takeDigits(_ text: inout Bytes) -> Bytes {
        let digits = text.prefix(while: isDigit)
        text = text[digits.endIndex...]
        return digits.drop { $0 == UInt8(ascii: "0") }
    }

    /// A tilde sorts before everything, even the end of the text; letters sort before all other characters.
    private static func weight(_ byte: UInt8?) -> Int {
        guard let byte, !isDigit(byte) else { return 0 }
        switch byte {
        case UInt8(ascii: "~"): return -1
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return Int(byte)
        default: return Int(byte) + 256
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isNonDigit(_ byte: UInt8?) -> Bool { byte.map { !isDigit($0) } ?? false }
}
