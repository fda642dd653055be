internal import HornbeamStore

/// One result of a fetch: a row, for which no object may exist yet, or an object with unsaved changes.
enum FoundObject {
    case stored(ResultRow)
    case object(ManagedObject)
}

/// The results of a fetch, in order. Usually no unsaved change affects them, and they are the result set of the store.
struct FoundObjects: RandomAccessCollection {
    private enum Results {
        case rows(ResultSet)
        /// Objects with unsaved changes are among the results.
        case mixed([FoundObject])
    }

    private let results: Results

    init(_ answer: FetchAnswer) { results = .rows(answer.rows) }

    init(_ mixed: [FoundObject]) { results = .mixed(mixed) }

    /// The rows, if no object with unsaved changes is among the results; nil otherwise.
    var rows: ResultSet? { if case .rows(let rows) = results { rows } else { nil } }

    func makeIterator() -> Iterator {
        switch results {
        case .rows(let rows): Iterator(rows: rows.makeIterator(), mixed: [].makeIterator())
        case .mixed(let found): Iterator(rows: ResultSet().makeIterator(), mixed: found.makeIterator())
        }
    }

    /// Iterates over the results without a search for each row.
    struct Iterator: IteratorProtocol {
        fileprivate var rows: ResultSetIterator
        fileprivate var mixed: IndexingIterator<[FoundObject]>

        mutating func next() -> FoundObject? { rows.next().map { .stored($0) } ?? mixed.next() }
    }

    var startIndex: Int { 0 }

    var endIndex: Int {
        switch results {
        case .rows(let rows): rows.count
        case .mixed(let found): found.count
        }
    }

    subscript(position: Int) -> FoundObject {
        switch results {
        case .rows(let rows): .stored(rows[position])
        case .mixed(let found): found[position]
        }
    }
}
