import Foundation

extension PredicateParser {
    mutating func takeNumber() throws(PredicateSyntaxProblem) -> PropertyValue {
        let value = try numberValue(token, isNegative: false)
        advance()
        return value
    }

    /// An integer is an `int` if it fits into 64 bits, else a `decimal`; other numbers are `double`.
    func numberValue(_ token: PredicateToken, isNegative: Bool) throws(PredicateSyntaxProblem) -> PropertyValue {
        let bytes = scanner.bytes
        var first = token.start
        var radix: UInt64 = 10
        if token.end - first > 2, bytes[first] == UInt8(ascii: "0"), let letter = Self.radix(bytes[first + 1]) {
            radix = letter
            first += 2
        }
        var magnitude: UInt64 = 0
        for index in first..<token.end {
            guard let digit = Self.digit(bytes[index]), digit < radix else {
                guard radix == 10 else { throw unexpected("digits of base \(radix)") }
                return try fraction(token, isNegative)
            }
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(digit)
            guard !overflow, !carry else { return try fraction(token, isNegative) }
            magnitude = sum
        }
        if isNegative, magnitude == 1 << 63 { return .int(.min) }
        guard let value = Int64(exactly: magnitude) else { return try fraction(token, isNegative) }
        return .int(isNegative ? -value : value)
    }

    private static func radix(_ byte: UInt8) -> UInt64? {
        switch byte | 0x20 {
        case UInt8(ascii: "x"): 16
        case UInt8(ascii: "o"): 8
        case UInt8(ascii: "b"): 2
        default: nil
        }
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    private func fraction(_ token: PredicateToken, _ isNegative: Bool) throws(PredicateSyntaxProblem) -> PropertyValue {
        let text = (isNegative ? "-" : "") + scanner.text(token.start..<token.end)
        let isWhole = !scanner.bytes[token.start..<token.end].contains { Self.digit($0) == nil || Self.digit($0)! > 9 }
        if isWhole, text.utf8.count <= 38, let decimal = Decimal(string: text) { return .decimal(decimal) }
        guard let value = Double(text), value.isFinite else { throw problem("this number is too large", at: token.start) }
        return .double(value == 0 ? 0 : value)
    }

    // MARK: Strings

    mutating func takeString() throws(PredicateSyntaxProblem) -> String {
        let inner = token.start + 1..<token.end - 1
        let bytes = scanner.bytes
        guard bytes[inner].contains(UInt8(ascii: "\\")) else {
            if bytes[inner].elementsEqual("%@".utf8) { quotedPlaceholders += 1 }
            advance()
            return scanner.text(inner)
        }
        var units: [UInt8] = []
        units.reserveCapacity(inner.count)
        var index = inner.lowerBound
        while index < inner.upperBound {
            if bytes[index] == UInt8(ascii: "\\") {
                try appendEscape(to: &units, &index, inner.upperBound)
            } else {
                units.append(bytes[index])
                index += 1
            }
        }
        advance()
        return String(decoding: units, as: UTF8.self)
    }

    private func appendEscape(to units: inout [UInt8], _ index: inout Int, _ end: Int) throws(PredicateSyntaxProblem) {
        let start = index
        let letter = scanner.bytes[index + 1]
        index += 2
        switch letter {
        case UInt8(ascii: "n"): units.append(0x0A)
        case UInt8(ascii: "r"): units.append(0x0D)
        case UInt8(ascii: "t"): units.append(0x09)
        case UInt8(ascii: "a"): units.append(0x07)
        case UInt8(ascii: "b"): units.append(0x08)
        case UInt8(ascii: "f"): units.append(0x0C)
        case UInt8(ascii: "v"): units.append(0x0B)
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            index -= 1
            append(takeDigits(&index, end, base: 8, atMost: 3)!, to: &units)
        case UInt8(ascii: "x"):
            guard let value = takeDigits(&index, end, base: 16, atMost: 2) else { throw problem("\\x needs two hexadecimal digits", at: start) }
            append(value, to: &units)
        case UInt8(ascii: "u"):
            let first = index
            guard var value = takeDigits(&index, end, base: 16, atMost: 4), index == first + 4 else {
                throw problem("\\u needs four hexadecimal digits", at: start)
            }
            joinSurrogates(&value, &index, end)
            guard Unicode.Scalar(value) != nil else { throw problem("this is half of a surrogate pair", at: start) }
            append(value, to: &units)
        default:
            units.append(letter)
        }
    }

    private func takeDigits(_ index: inout Int, _ end: Int, base: UInt64, atMost count: Int) -> UInt32? {
        var value: UInt64 = 0
        let first = index
        while index < end, index - first < count, let digit = Self.digit(scanner.bytes[index]), digit < base {
            value = value * base + digit
            index += 1
        }
        return index == first ? nil : UInt32(value)
    }

    /// If `value` is the first half of a surrogate pair, reads the second half and sets `value` to the whole scalar.
    private func joinSurrogates(_ value: inout UInt32, _ index: inout Int, _ end: Int) {
        guard value >= 0xD800, value < 0xDC00, index + 6 <= end else { return }
        let bytes = scanner.bytes
        guard bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else { return }
        var next = index + 2
        guard let low = takeDigits(&next, end, base: 16, atMost: 4), low >= 0xDC00, low < 0xE000 else { return }
        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        index = next
    }

    private func append(_ value: UInt32, to units: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(value) else { return }
        units.append(contentsOf: UTF8.encode(scalar) ?? .init())
    }

    // MARK: Arguments

    private mutating func takeArgument() throws(PredicateSyntaxProblem) -> PredicateArgumentValue {
        guard argumentsUsed < arguments.count else {
            throw problem("there is no argument for this placeholder, number \(argumentsUsed + 1); \(arguments.count) were given")
        }
        argumentsUsed += 1
        return arguments[argumentsUsed - 1]
    }

    mutating func parseArgument() throws(PredicateSyntaxProblem) -> Parsed {
        let start = token.start
        let argument = try takeArgument()
        advance()
        switch argument {
        case .value(let value): return leaf(.constant(FetchExpression.normalized(value)), start)
        case .predicate(let predicate):
            return Parsed(kind: .predicate(predicate.node), height: try checked(predicate.node.height, start), start: start)
        case .expression(let expression):
            return Parsed(kind: .expression(expression.node), height: try checked(expression.node.height, start), start: start)
        }
    }

    private func checked(_ height: Int, _ start: Int) throws(PredicateSyntaxProblem) -> Int {
        guard height <= Self.heightMax else { throw problem("the argument is nested more than \(Self.heightMax) levels deep", at: start) }
        return height
    }

    /// The key path argument of a `%K`.
    mutating func keyPathArgument() throws(PredicateSyntaxProblem) -> FetchExpression.Node {
        switch try takeArgument() {
        case .value(.string(let text)):
            let steps = try keyPathSteps(text)
            advance()
            return steps.isEmpty ? .evaluatedObject : .keyPath(.evaluatedObject, steps)
        case .expression(let expression):
            guard case .keyPath = expression.node else { throw problem("the argument of this %K must be a key path") }
            advance()
            return expression.node
        default: throw problem("the argument of this %K must be a string with a key path")
        }
    }

    /// Parses a key path such as `a.b.@count`; reserved words are plain names here.
    private func keyPathSteps(_ text: String) throws(PredicateSyntaxProblem) -> [FetchExpression.Step] {
        var steps: [FetchExpression.Step] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            if part.utf8.elementsEqual("self".utf8) || part.utf8.elementsEqual("SELF".utf8) { continue }
            if part.utf8.first == UInt8(ascii: "@") {
                guard let found = FetchExpression.CollectionOperator(rawValue: String(part.dropFirst())) else {
                    throw problem("the key path given for this %K has an unknown operator \(part)")
                }
                steps.append(.collection(found))
                continue
            }
            let name = part.utf8.first == UInt8(ascii: "#") ? part.dropFirst() : part
            guard let first = name.utf8.first, PredicateScanner.startsName(first), name.utf8.allSatisfy(PredicateScanner.continuesName) else {
                throw problem("the argument of this %K is not a key path")
            }
            steps.append(.name(String(name)))
        }
        guard steps.count < Self.heightMax else { throw problem("the key path given for this %K has too many parts") }
        return steps
    }

    /// The number argument of a `%d` or a similar placeholder; a Boolean becomes 0 or 1.
    mutating func numberArgument() throws(PredicateSyntaxProblem) -> PropertyValue {
        guard case .value(let value) = try takeArgument() else { throw problem("the argument of this placeholder must be a number") }
        switch FetchExpression.normalized(value) {
        case .int, .double, .decimal, .null:
            advance()
            return FetchExpression.normalized(value)
        default: throw problem("the argument of this placeholder must be a number; use %@ for other values")
        }
    }
}
