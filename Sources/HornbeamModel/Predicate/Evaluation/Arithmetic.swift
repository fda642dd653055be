import Foundation

/// Arithmetic on values. The result of two integers is an integer, or a double after an overflow. A decimal operand makes
/// the result a decimal, else a double operand makes it a double. An undefined result is nil.
enum Arithmetic {
    private enum Operands {
        case integers(Int64, Int64)
        case doubles(Double, Double)
        case decimals(Decimal, Decimal)
    }

    private static func operands(_ a: PropertyValue, _ b: PropertyValue) -> Operands? {
        switch (a.normalizedNumber, b.normalizedNumber) {
        case (.int(let x), .int(let y)): return .integers(x, y)
        case (.decimal, .int), (.int, .decimal), (.decimal, .decimal), (.decimal, .double), (.double, .decimal):
            guard let x = a.decimalValue, let y = b.decimalValue else { return nil }
            return .decimals(x, y)
        case (.int, .double), (.double, .int), (.double, .double):
            guard let x = a.doubleValue, let y = b.doubleValue else { return nil }
            return .doubles(x, y)
        default: return nil
        }
    }

    static func add(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        switch (a, b) {
        case (.date(let date), let seconds): return moved(date, by: seconds.doubleValue)
        case (let seconds, .date(let date)): return moved(date, by: seconds.doubleValue)
        default: return calculate(a, b, { $0.addingReportingOverflow($1) }, +, +)
        }
    }

    static func subtract(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        switch (a, b) {
        case (.date(let later), .date(let earlier)): return .double(later.timeIntervalSince(earlier))
        case (.date(let date), let seconds): return moved(date, by: seconds.doubleValue.map { -$0 })
        default: return calculate(a, b, { $0.subtractingReportingOverflow($1) }, -, -)
        }
    }

    static func multiply(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        calculate(a, b, { $0.multipliedReportingOverflow(by: $1) }, *, Decimal.product)
    }

    /// Integer division truncates towards zero; an integer divided by 0 is nil.
    static func divide(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        switch operands(a, b) {
        case .integers(_, 0): return .null
        case .decimals(_, 0): return .null
        default: return calculate(a, b, { $0.dividedReportingOverflow(by: $1) }, /, /)
        }
    }

    static func modulus(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        switch operands(a, b) {
        case .integers(_, 0), .decimals(_, 0), nil: return .null
        case .decimals(let x, let y): return x.remainder(dividingBy: y).map(PropertyValue.decimal) ?? .null
        case .integers(_, -1): return .int(0)
        case .integers(let x, let y): return .int(x % y)
        case .doubles(let x, let y): return .double(x.truncatingRemainder(dividingBy: y))
        }
    }

    static func power(_ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        let operands = operands(a, b)
        if case .integers(let base, let exponent) = operands, exponent >= 0, let whole = power(base, exponent) {
            return .int(whole)
        }
        guard let x = a.doubleValue, let y = b.doubleValue else { return .null }
        guard case .decimals(let base, let exponent) = operands else { return .double(pow(x, y)) }
        let exact = exponent.wholeNumber.flatMap { base.power($0) } ?? Decimal(shortest: pow(x, y))
        return exact.map(PropertyValue.decimal) ?? .null
    }

    private static func power(_ base: Int64, _ exponent: Int64) -> Int64? {
        if base == 0 || base == 1 { return exponent == 0 ? 1 : base }
        if base == -1 { return exponent % 2 == 0 ? 1 : -1 }
        guard exponent < 64 else { return nil }
        var result: Int64 = 1
        for _ in 0..<exponent {
            let (product, overflow) = result.multipliedReportingOverflow(by: base)
            if overflow { return nil }
            result = product
        }
        return result
    }

    private static func moved(_ date: Date, by seconds: Double?) -> PropertyValue {
        seconds.map { .date(date.addingTimeInterval($0)) } ?? .null
    }

    private static func calculate(
        _ a: PropertyValue, _ b: PropertyValue,
        _ integers: (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
        _ doubles: (Double, Double) -> Double, _ decimals: (Decimal, Decimal) -> Decimal
    ) -> PropertyValue {
        switch operands(a, b) {
        case .integers(let x, let y):
            let (result, overflow) = integers(x, y)
            return overflow ? .double(doubles(Double(x), Double(y))) : .int(result)
        case .doubles(let x, let y): return .double(doubles(x, y))
        case .decimals(let x, let y): return .decimal(decimals(x, y))
        case nil: return .null
        }
    }

    // MARK: Aggregates

    /// 0 for no values.
    static func sum(_ values: [PropertyValue]) -> PropertyValue { values.reduce(.int(0), add) }

    /// nil for no values.
    static func average(_ values: [PropertyValue]) -> PropertyValue {
        if values.isEmpty { return .null }
        let total = sum(values)
        if case .decimal = total { return divide(total, .int(Int64(values.count))) }
        return total.doubleValue.map { .double($0 / Double(values.count)) } ?? .null
    }

    /// The least or greatest value; nil for no values. Values of different types compare as in a sorted list.
    static func extreme(_ values: [PropertyValue], _ wanted: ValueOrder) -> PropertyValue {
        guard var best = values.first else { return .null }
        for value in values.dropFirst() where value.sortOrder(to: best) == wanted { best = value }
        return best
    }

    static func median(_ values: [PropertyValue]) -> PropertyValue {
        let sorted = values.sorted { $0.sortOrder(to: $1) == .less }
        guard let middle = sorted.indices.isEmpty ? nil : sorted.count / 2 else { return .null }
        return sorted.count % 2 == 1 ? sorted[middle] : average([sorted[middle - 1], sorted[middle]])
    }

    /// The most frequent values, in ascending order.
    static func mode(_ values: [PropertyValue]) -> PropertyValue {
        let runs = Dictionary(grouping: values, by: \.normalizedForEquality).values
        let most = runs.map(\.count).max() ?? 0
        return .array(runs.filter { $0.count == most }.map { $0[0] }.sorted { $0.sortOrder(to: $1) == .less })
    }

    /// The standard deviation of the whole population; nil for no values.
    static func standardDeviation(_ values: [PropertyValue]) -> PropertyValue {
        let numbers = values.compactMap(\.doubleValue)
        guard !numbers.isEmpty else { return .null }
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        return .double((numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(numbers.count)).squareRoot())
    }
}

extension PropertyValue {
    fileprivate var normalizedNumber: PropertyValue {
        if case .bool(let flag) = self { .int(flag ? 1 : 0) } else { self }
    }
}

extension Decimal {
    /// The product, or NaN when it is not a decimal. Foundation's operator ends the process when the product is too small.
    fileprivate static func product(_ a: Decimal, _ b: Decimal) -> Decimal {
        if a.isZero || b.isZero { return a * b }
        return a.exponent + b.exponent < -128 ? .nan : a * b
    }

    /// The remainder of a division, with the sign of the dividend.
    /// - Returns: Nil when the quotient has more digits than a decimal holds.
    fileprivate func remainder(dividingBy divisor: Decimal) -> Decimal? {
        let size = abs(divisor)
        var rest = abs(self)
        // A quotient with too many digits is rounded. The rest is then divided again.
        for _ in 0..<4 {
            if rest < size { return self < 0 ? -rest : rest }
            var quotient = rest / size
            var whole = Decimal()
            unsafe NSDecimalRound(&whole, &quotient, 0, .down)
            rest -= whole * size
            if rest < 0 { rest += size }
            if rest.isNaN { return nil }
        }
        return nil
    }

    /// An integer power; nil when the result is not a decimal.
    fileprivate func power(_ exponent: Int64) -> Decimal? {
        var left = exponent.magnitude
        var factor = self
        var result = Decimal(1)
        while left > 0, !result.isNaN {
            if left & 1 == 1 { result = .product(result, factor) }
            left >>= 1
            if left > 0 { factor = .product(factor, factor) }
        }
        if exponent < 0 { result = result == 0 ? .nan : 1 / result }
        return result.isNaN ? nil : result
    }
}
