/// A group in the answer of a store.
public struct StoreGroup: Hashable, Sendable {
    /// The values of the grouping's keys.
    public var keys: [PropertyValue]
    /// The values of the grouping's totals.
    public var totals: [PropertyValue]
    /// The least key of its objects; nil for a group without objects.
    public var first: UInt64?

    /// A group of objects with equal values.
    public init(keys: [PropertyValue], totals: [PropertyValue], first: UInt64?) {
        self.keys = keys
        self.totals = totals
        self.first = first
    }
}
