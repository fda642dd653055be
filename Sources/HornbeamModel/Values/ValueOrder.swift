/// The order of two values.
public enum ValueOrder: Int, Hashable, Sendable {
    /// The first value is smaller.
    case less = -1
    /// Neither value is smaller.
    case same = 0
    /// The first value is larger.
    case greater = 1

    /// The opposite order.
    public var reversed: ValueOrder { ValueOrder(rawValue: -rawValue) ?? .same }
}
