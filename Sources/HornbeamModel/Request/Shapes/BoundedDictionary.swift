/// A dictionary with a limited number of values. A new key removes the value of the oldest key.
@usableFromInline package struct BoundedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let countMax: Int
    @usableFromInline var values: [Key: Value] = [:]
    /// The keys, as a ring.
    private var keys: [Key] = []
    private var oldest = 0

    package init(countMax: Int) {
        precondition(countMax > 0, "A bounded dictionary has room for a value.")
        self.countMax = countMax
    }

    package var count: Int { values.count }

    @inlinable
    package func value(for key: Key) -> Value? { values[key] }

    /// Sets the value of a key, which keeps its age if it is not new.
    package mutating func set(_ value: Value, for key: Key) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        if keys.count < countMax { return keys.append(key) }
        values[keys[oldest]] = nil
        keys[oldest] = key
        oldest = (oldest + 1) % countMax
    }
}
