/// The order keys of results by position, each read when it is first compared.
///
/// Later updates of the results compare most of their objects without reading them. Keys of changed objects are dropped with their positions.
struct ResultKeys {
    private var keys: [ObjectOrder.Keys?]

    init(count: Int) { keys = Array(repeating: nil, count: count) }

    /// Keys for results that are appended.
    init(capacity: Int) {
        keys = []
        keys.reserveCapacity(capacity)
    }

    mutating func append(_ new: ObjectOrder.Keys) { keys.append(new) }

    mutating func append(_ others: ResultKeys, _ positions: ClosedRange<Int>) { keys += others.keys[positions] }

    /// The index in `remaining` of the first result that does not precede another object. Searches near the start first: the objects to place are sorted.
    ///
    /// - Parameters:
    ///   - other: The keys of the object to place.
    ///   - remaining: The positions of the results that keep their order.
    ///   - start: The index at which the search begins.
    ///   - object: The result at a position.
    mutating func place(
        of other: ObjectOrder.Keys, in remaining: [Int], from start: Int, _ order: ObjectOrder, object: (Int) -> ManagedObject
    ) throws -> Int {
        var low = start
        var step = 1
        while low + step <= remaining.count, try precedes(remaining[low + step - 1], other, order, object) {
            low += step
            step *= 2
        }
        var high = min(low + step - 1, remaining.count)
        while low < high {
            let middle = (low + high) / 2
            if try precedes(remaining[middle], other, order, object) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func precedes(
        _ position: Int, _ other: ObjectOrder.Keys, _ order: ObjectOrder, _ object: (Int) -> ManagedObject
    ) throws -> Bool {
        if let known = keys[position] { return order.precedes(known, other) }
        let read = try order.keys(of: object(position))
        keys[position] = read
        return order.precedes(read, other)
    }
}
