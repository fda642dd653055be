/// How one value stands to another in an order.
public enum ValueOrder: Int, Hashable, Sendable {
    case less = -1
    case same = 0
    case greater = 1

    /// The order seen from the other side.
    public var reversed: ValueOrder { ValueOrder(rawValue: -rawValue) ?? .same }
}
