/// The order keys of results by position, each read when it is first compared.
///
/// Later updates of the results compare most of their objects without reading them. Keys of changed objects are dropped with their positions.
struct ResultKeys {
    /// The keys of each position by reference. Copied without the values.
    private struct Places {
        /// The prefix of the keys at each position; undefined if they are not read.
        var prefixes: [UInt64] = []
        /// The index in the pool of the keys at each position; negative if they are not read.
        var indexes: [Int32] = []
    }

    private var pool: [ObjectOrder.Keys] = []
    private var places = Places()
    /// The places of the results that are being merged.
    private var merged = Places()

    init(count: Int) {
        places.prefixes = Array(repeating: 0, count: count)
        places.indexes = Array(repeating: -1, count: count)
    }

    // MARK: Merging

    mutating func reserve(_ count: Int) {
        merged.prefixes.reserveCapacity(count)
        merged.indexes.reserveCapacity(count)
    }

    /// Appends the keys of an inserted object to the merged ones.
    mutating func append(_ keys: ObjectOrder.Keys) {
        merged.prefixes.append(keys.prefix)
        merged.indexes.append(Int32(pool.count))
        pool.append(keys)
    }

    /// Appends the keys of results that keep their order to the merged ones.
    mutating func keep(_ positions: ClosedRange<Int>) {
        merged.prefixes += places.prefixes[positions]
        merged.indexes += places.indexes[positions]
    }

    /// Replaces the keys by the merged ones.
    mutating func endMerge() {
        places = merged
        merged = Places()
        guard pool.count > 1000 + 2 * places.indexes.count else { return }
        // Most keys belong to positions that no longer exist.
        var used: [ObjectOrder.Keys] = []
        for position in places.indexes.indices where places.indexes[position] >= 0 {
            used.append(pool[Int(places.indexes[position])])
            places.indexes[position] = Int32(used.count - 1)
        }
        pool = used
    }

    // MARK: Searching

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
        if places.indexes[position] < 0 {
            let keys = try order.keys(of: object(position))
            places.prefixes[position] = keys.prefix
            places.indexes[position] = Int32(pool.count)
            pool.append(keys)
        }
        let prefix = places.prefixes[position]
        return prefix != other.prefix ? prefix < other.prefix : order.precedes(pool[Int(places.indexes[position])], other)
    }
}
