/// The order of Debian version numbers, `[epoch:]upstream[-revision]`.
enum DebianVersion {
    /// Negative when `a` is earlier than `b`, 0 when they are equal, positive when it is later.
    static func compare(_ a: String, _ b: String) -> Int {
        if a == b { return 0 }
        var a = a
        var b = b
        return a.withUTF8 { a in
            b.withUTF8 { b in unsafe compare(Parts(a[...]), Parts(b[...])) }
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    @safe private struct Parts {
        var epoch = 0
        var upstream: Bytes
        var revision: Bytes

        init(_ text: Bytes) {
            unsafe upstream = unsafe text
            if let colon = unsafe text.firstIndex(of: UInt8(ascii: ":")) {
                epoch = unsafe Int(String(decoding: text[..<colon], as: UTF8.self)) ?? 0
                unsafe upstream = unsafe text[(colon + 1)...]
            }
            unsafe revision = unsafe text[text.endIndex...]
            if let hyphen = unsafe upstream.lastIndex(of: UInt8(ascii: "-")) {
                unsafe revision = unsafe upstream[(hyphen + 1)...]
                unsafe upstream = unsafe upstream[..<hyphen]
            }
        }
    }

    private static func compare(_ a: Parts, _ b: Parts) -> Int {
        if a.epoch != b.epoch { return a.epoch < b.epoch ? -1 : 1 }
        let order = unsafe comparePart(a.upstream, b.upstream)
        return unsafe order != 0 ? order : comparePart(a.revision, b.revision)
    }

    /// Compares runs of non-digits and runs of digits alternately, as Debian Policy 5.6.12 specifies.
    private static func comparePart(_ a: Bytes, _ b: Bytes) -> Int {
        var a = unsafe a
        var b = unsafe b
        while unsafe !a.isEmpty || !b.isEmpty {
            while unsafe isNonDigit(a.first) || isNonDigit(b.first) {
                let difference = unsafe weight(a.first) - weight(b.first)
                if difference != 0 { return difference }
                unsafe a = unsafe a.dropFirst()
                unsafe b = unsafe b.dropFirst()
            }
            let difference = unsafe compareDigits(&a, &b)
            if difference != 0 { return difference }
        }
        return 0
    }

    private static func compareDigits(_ a: inout Bytes, _ b: inout Bytes) -> Int {
        let x = unsafe takeDigits(&a)
        let y = unsafe takeDigits(&b)
        if unsafe x.count != y.count { return unsafe x.count - y.count }
        for unsafe (p, q) in unsafe zip(x, y) where p != q { return Int(p) - Int(q) }
        return 0
    }

    /// The leading digits, without leading zeros.
    private static func takeDigits(_ text: inout Bytes) -> Bytes {
        let digits = unsafe text.prefix(while: isDigit)
        unsafe text = unsafe text[digits.endIndex...]
        return unsafe digits.drop { $0 == UInt8(ascii: "0") }
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
