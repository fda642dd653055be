/// The pattern of LIKE: `*` matches any run of characters, `?` one Unicode scalar; a backslash
/// escapes the next character. The worst-case time is proportional to text times pattern,
/// without extra memory.
struct LikePattern: Sendable {
    private static let one: UInt16 = 256
    private static let run: UInt16 = 257

    /// Bytes, and the two wildcards as values above 255.
    private let tokens: [UInt16]

    /// The maximum length of a pattern in bytes. It limits the work on a text.
    private static let lengthMax = 4096

    /// - Throws: `HornbeamError` with code `predicateEvaluation` for a pattern that is too long.
    init(_ pattern: String, _ folding: TextFolding) throws {
        guard pattern.utf8.count <= Self.lengthMax else {
            throw HornbeamError(
                .predicateEvaluation, "The right side of LIKE has \(pattern.utf8.count) bytes, and may have \(Self.lengthMax).")
        }
        var tokens: [UInt16] = []
        var literal = String.UnicodeScalarView()
        func flush() {
            for byte in folding.folded(String(literal)) { tokens.append(UInt16(byte)) }
            literal = .init()
        }
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == "\\" {
                isEscaped = true
            } else if !isEscaped, scalar == "*" || scalar == "?" {
                flush()
                let token = scalar == "*" ? Self.run : Self.one
                if token != Self.run || tokens.last != Self.run { tokens.append(token) }
            } else {
                literal.append(scalar)
                isEscaped = false
            }
        }
        if isEscaped { literal.append("\\") }
        flush()
        self.tokens = tokens
    }

    /// - Throws: `HornbeamError` with code `predicateEvaluation` when it exceeds the limit of work.
    func matches(_ text: UnsafeBufferPointer<UInt8>, _ work: inout EvaluationBudget) throws -> Bool {
        var steps = 0
        let isFound = unsafe matches(text, &steps, stepsMax: work.stepsLeft)
        try work.charge(steps: steps)
        return isFound
    }

    /// Stops when `steps` exceeds the maximum, and returns false.
    private func matches(_ text: UnsafeBufferPointer<UInt8>, _ steps: inout Int, stepsMax: Int) -> Bool {
        var place = 0
        var index = 0
        // The position in the pattern after the last `*`, and the position in the text up to which it matches.
        var retry: (token: Int, text: Int)?
        while place < text.count {
            steps += 1
            if steps > stepsMax { return false }
            if index < tokens.count, tokens[index] == Self.run {
                index += 1
                retry = (index, place)
            } else if index < tokens.count, tokens[index] == Self.one {
                place = unsafe Self.nextScalar(text, place)
                index += 1
            } else if index < tokens.count, unsafe tokens[index] == UInt16(text[place]) {
                place += 1
                index += 1
            } else if let last = retry {
                place = unsafe Self.nextScalar(text, last.text)
                index = last.token
                retry = (index, place)
            } else {
                return false
            }
        }
        while index < tokens.count, tokens[index] == Self.run { index += 1 }
        return index == tokens.count
    }

    private static func nextScalar(_ text: UnsafeBufferPointer<UInt8>, _ place: Int) -> Int {
        var next = place + 1
        while next < text.count, unsafe text[next] & 0xC0 == 0x80 { next += 1 }
        return next
    }
}
