import Foundation

extension PredicateFunction {
    /// The result of the function; nil for arguments of the wrong type.
    package func result(_ arguments: [EvaluatedValue]) -> EvaluatedValue {
        switch self {
        case .count: return .value(.int(Int64(Self.members(arguments).count)))
        case .noIndex, .distinct: return arguments[0]
        case .distance: return .value(Self.distance(arguments[0], arguments[1]))
        case .sum, .min, .max, .average, .median, .mode, .standardDeviation:
            return .value(aggregate(Self.members(arguments).compactMap(Self.plain)))
        default: return .value(calculate(arguments.map { $0.propertyValue ?? .null }))
        }
    }

    /// The elements of one collection, or of a list of values.
    private static func members(_ arguments: [EvaluatedValue]) -> [EvaluatedValue] {
        arguments.count == 1 ? arguments[0].members : arguments
    }

    private static func plain(_ element: EvaluatedValue) -> PropertyValue? {
        if case .value(let value) = element, value != .null { value } else { nil }
    }

    private func aggregate(_ values: [PropertyValue]) -> PropertyValue {
        switch self {
        case .sum: Arithmetic.sum(values)
        case .min: Arithmetic.extreme(values, .less)
        case .max: Arithmetic.extreme(values, .greater)
        case .average: Arithmetic.average(values)
        case .median: Arithmetic.median(values)
        case .mode: Arithmetic.mode(values)
        default: Arithmetic.standardDeviation(values)
        }
    }

    private func calculate(_ values: [PropertyValue]) -> PropertyValue {
        switch self {
        case .add: Arithmetic.add(values[0], values[1])
        case .subtract: Arithmetic.subtract(values[0], values[1])
        case .multiply: Arithmetic.multiply(values[0], values[1])
        case .divide: Arithmetic.divide(values[0], values[1])
        case .modulus: Arithmetic.modulus(values[0], values[1])
        case .power: Arithmetic.power(values[0], values[1])
        case .bitAnd, .bitOr, .bitXor, .shiftLeft, .shiftRight, .onesComplement: bits(values.map(\.intValue))
        case .uppercase, .lowercase, .canonical, .length, .trim: text(values[0].stringValue)
        case .substring: Self.substring(values[0].stringValue, values[1].intValue, values[2].intValue)
        case .replace: Self.replacing(values[0].stringValue, values[1].stringValue, values[2].stringValue)
        case .floor, .ceiling, .absolute, .truncate: rounded(values[0])
        case .random: .int(Int64.random(in: 0...Int64(Int32.max)))
        case .randomBelow: values[0].intValue.flatMap { $0 > 0 ? .int(Int64.random(in: 0..<$0)) : nil } ?? .null
        case .now: .date(Date())
        default: real(values[0].doubleValue)
        }
    }

    private func real(_ number: Double?) -> PropertyValue {
        guard let number else { return .null }
        switch self {
        case .squareRoot: return .double(number.squareRoot())
        case .log10: return .double(Foundation.log10(number))
        case .naturalLog: return .double(Foundation.log(number))
        case .exponential: return .double(Foundation.exp(number))
        default: return .null
        }
    }

    private func rounded(_ value: PropertyValue) -> PropertyValue {
        switch value {
        case .bool(let flag): return .int(flag ? 1 : 0)
        case .int(let number): return self == .absolute ? (number == .min ? .double(0x1p63) : .int(abs(number))) : value
        case .double(let number):
            switch self {
            case .floor: return .double(number.rounded(.down))
            case .ceiling: return .double(number.rounded(.up))
            case .truncate: return .double(number.rounded(.towardZero))
            default: return .double(abs(number))
            }
        case .decimal(let number): return .decimal(rounded(number))
        default: return .null
        }
    }

    private func rounded(_ number: Decimal) -> Decimal {
        var input = number
        var result = Decimal()
        switch self {
        case .floor: unsafe NSDecimalRound(&result, &input, 0, .down)
        case .ceiling: unsafe NSDecimalRound(&result, &input, 0, .up)
        case .truncate: unsafe NSDecimalRound(&result, &input, 0, number < 0 ? .up : .down)
        default: result = abs(number)
        }
        return result
    }

    private func bits(_ numbers: [Int64?]) -> PropertyValue {
        guard let a = numbers[0] else { return .null }
        if self == .onesComplement { return .int(~a) }
        guard let b = numbers[1] else { return .null }
        switch self {
        case .bitAnd: return .int(a & b)
        case .bitOr: return .int(a | b)
        case .bitXor: return .int(a ^ b)
        case .shiftLeft: return .int(a << b)
        default: return .int(a >> b)
        }
    }

    private func text(_ string: String?) -> PropertyValue {
        guard let string else { return .null }
        switch self {
        case .uppercase: return .string(string.uppercased())
        case .lowercase: return .string(string.lowercased())
        case .canonical:
            let folded = Folding.fold(string.utf8, caseInsensitive: true, diacriticInsensitive: true)
            return .string(String(decoding: folded, as: UTF8.self))
        case .trim:
            let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
            let end = string.unicodeScalars.reversed().drop(while: isSpace).startIndex.base
            return .string(String(string.unicodeScalars[..<end].drop(while: isSpace)))
        default: return .int(Int64(string.utf16.count))
        }
    }

    /// The distance on the earth's surface in metres between two `{latitude, longitude}` in degrees.
    private static func distance(_ a: EvaluatedValue, _ b: EvaluatedValue) -> PropertyValue {
        guard let (latitude, longitude) = place(a), let (otherLatitude, otherLongitude) = place(b) else { return .null }
        let radius = 6_371_008.8
        let half = sin((otherLatitude - latitude) / 2)
        let across = sin((otherLongitude - longitude) / 2)
        let chord = half * half + cos(latitude) * cos(otherLatitude) * across * across
        return .double(2 * radius * asin(Swift.min(1, chord.squareRoot())))
    }

    private static func place(_ value: EvaluatedValue) -> (Double, Double)? {
        var numbers: [Double] = []
        if case .value(.dictionary(let pairs)) = value {
            numbers = ["latitude", "longitude"].compactMap { pairs[$0]?.doubleValue }
        } else if value.isOrderedCollection {
            numbers = value.members.compactMap { $0.propertyValue?.doubleValue }
        }
        guard numbers.count == 2 else { return nil }
        return (numbers[0] * .pi / 180, numbers[1] * .pi / 180)
    }
}
