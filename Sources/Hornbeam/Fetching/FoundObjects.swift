internal import HornbeamStore

/// One result of a fetch: a row, for which no object may exist yet, or an object with unsaved changes.
enum FoundObject {
    case stored(ResultRow)
    case object(ManagedObject)
}

/// The results of a fetch, in order. Usually no unsaved change affects them, and they are the result set of the store.
struct FoundObjects: RandomAccessCollection {
    /// The result set of the store.
    private let stored: ResultSet
    /// The results, if objects with unsaved changes are among them; nil otherwise.
    private let mixed: [FoundObject]?

    init(_ rows: ResultSet) {
        stored = rows
        mixed = nil
    }

    init(_ mixed: [FoundObject]) {
        stored = ResultSet()
        self.mixed = mixed
    }

    /// The rows, if no object with unsaved changes is among the results; nil otherwise.
    var rows: ResultSet? { mixed == nil ? stored : nil }

    /// The results in a range.
    func part(_ range: Range<Int>) -> FoundObjects {
        if range == indices { return self }
        if let mixed { return FoundObjects(Array(mixed[range])) }
        var rows = stored
        rows.keep(range)
        return FoundObjects(rows)
    }

    /// The rows as a short list; nil for longer results, and if there are objects with unsaved changes.
    var shortList: ResultSet.List? { mixed == nil ? stored.shortList : nil }

    func makeIterator() -> Iterator {
        Iterator(rows: stored.makeIterator(), mixed: (mixed ?? []).makeIterator())
    }

    /// Iterates over the results without a search for each row.
    struct Iterator: IteratorProtocol {
        fileprivate var rows: ResultSetIterator
        fileprivate var mixed: IndexingIterator<[FoundObject]>

        mutating func next() -> FoundObject? { rows.next().map { .stored($0) } ?? mixed.next() }
    }

    var startIndex: Int { 0 }

    var endIndex: Int { mixed?.count ?? stored.count }

    subscript(position: Int) -> FoundObject { mixed?[position] ?? .stored(stored[position]) }
}
