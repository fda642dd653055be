/// An aggregate function over values that are added one by one. It ignores missing values. The result equals that of
/// `PredicateFunction.result` for all values.
package struct AggregateAccumulator: Sendable {
    private let function: PredicateFunction
    private var count: Int64 = 0
    private var state = State.empty
    /// All values, for functions that need them together.
    private var all: [PropertyValue] = []

    /// The sum or extreme value so far. Numbers are separate from other values, which are more expensive to copy.
    fileprivate enum State {
        case empty
        case int(Int64)
        case double(Double)
        case other(PropertyValue)
    }

    /// The values so far, if equal values are added only once; nil otherwise.
    private var distinct: Set<PropertyValue>?

    package init(_ function: PredicateFunction, isDistinct: Bool = false) {
        self.function = function
        distinct = isDistinct ? [] : nil
    }

    /// Removes all values. Keeps the memory.
    package mutating func removeAll() {
        count = 0
        state = .empty
        if !all.isEmpty { all.removeAll(keepingCapacity: true) }
        if distinct?.isEmpty == false { distinct?.removeAll(keepingCapacity: true) }
    }

    /// True if the value must not be added, because an equal value was added before.
    private mutating func isRepeated(_ value: PropertyValue) -> Bool {
        guard distinct != nil else { return false }
        return distinct?.insert(value.groupingForm).inserted == false
    }

    // MARK: Adding

    /// Counts an object, regardless of its values.
    package mutating func addObject() { count += 1 }

    package mutating func addObjects(_ number: Int) { count += Int64(number) }

    package mutating func add(_ value: PropertyValue) {
        switch value {
        case .null: return
        case .int(let number): add(number)
        case .double(let number): add(number)
        default: addOther(value)
        }
    }

    package mutating func add(_ number: Int64) {
        if isRepeated(.int(number)) { return }
        count += 1
        switch (function, state) {
        case (.count, _): return
        case (.sum, .empty), (.average, .empty), (.min, .empty), (.max, .empty): state = .int(number)
        case (.sum, .int(let sum)), (.average, .int(let sum)):
            let (total, overflow) = sum.addingReportingOverflow(number)
            state = overflow ? .double(Double(sum) + Double(number)) : .int(total)
        case (.min, .int(let least)): state = .int(Swift.min(least, number))
        case (.max, .int(let most)): state = .int(Swift.max(most, number))
        default: fold(.int(number))
        }
    }

    package mutating func add(_ number: Double) {
        if isRepeated(.double(number)) { return }
        count += 1
        switch (function, state) {
        case (.count, _): return
        case (.sum, .empty), (.average, .empty): state = .double(0 + number)
        case (.min, .empty), (.max, .empty): state = .double(number)
        case (.sum, .double(let sum)), (.average, .double(let sum)): state = .double(sum + number)
        // NaN orders before all numbers.
        case (.min, .double(let least)): if number < least || number.isNaN { state = .double(number) }
        case (.max, .double(let most)): if number > most || most.isNaN { state = .double(number) }
        default: fold(.double(number))
        }
    }

    /// Adds the total of other values. Not for functions that need all values together.
    package mutating func add(_ other: AggregateAccumulator) {
        precondition(other.all.isEmpty, "A median, a mode and a standard deviation have no totals of parts.")
        if let values = other.distinct {
            for value in values { add(value) }
            return
        }
        let count = count + other.count
        if let value = other.value { add(value) }
        self.count = count
    }

    private mutating func addOther(_ value: PropertyValue) {
        if isRepeated(value) { return }
        count += 1
        if function != .count { fold(value) }
    }

    private mutating func fold(_ value: PropertyValue) {
        switch function {
        case .sum, .average: state = State(Arithmetic.add(self.value ?? .int(0), value))
        case .min: if self.value.map({ value.sortOrder(to: $0) == .less }) ?? true { state = State(value) }
        case .max: if self.value.map({ value.sortOrder(to: $0) == .greater }) ?? true { state = State(value) }
        default: all.append(value)
        }
    }

    private var value: PropertyValue? {
        switch state {
        case .empty: nil
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .other(let value): value
        }
    }

    // MARK: The result

    package var result: PropertyValue {
        switch function {
        case .count: .int(count)
        case .sum: value ?? .int(0)
        case .min, .max: value ?? .null
        case .average: average
        default: function.result([.collection(all.map { .value($0) }, isOrdered: true)]).propertyValue ?? .null
        }
    }

    private var average: PropertyValue {
        guard let value else { return .null }
        if case .decimal = value { return Arithmetic.divide(value, .int(count)) }
        return value.doubleValue.map { .double($0 / Double(count)) } ?? .null
    }
}

extension AggregateAccumulator.State {
    fileprivate init(_ value: PropertyValue) {
        switch value {
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        default: self = .other(value)
        }
    }
}
