internal import HornbeamStore

/// One result of a fetch: a row that need not be an object yet, or an object with unsaved changes.
enum FoundObject {
    case stored(ObjectReference, RowHint)
    case object(ManagedObject)
}

/// The results of a fetch in order. Where no unsaved change matters, which is the rule, they are just what the store answered.
struct FoundObjects: RandomAccessCollection {
    let references: [ObjectReference]
    /// Where each row was seen; empty where that is not known.
    let hints: [RowHint]
    /// The results where objects with unsaved changes are among them.
    private let mixed: [FoundObject]?
    /// True when no unsaved change is among the results, so that references and hints are all there is.
    var isStored: Bool { mixed == nil }

    init(_ answer: FetchAnswer) {
        references = answer.references
        hints = answer.hints
        mixed = nil
    }

    init(_ mixed: [FoundObject]) {
        references = []
        hints = []
        self.mixed = mixed
    }

    var startIndex: Int { 0 }
    var endIndex: Int { mixed?.count ?? references.count }

    subscript(position: Int) -> FoundObject {
        if let mixed { return mixed[position] }
        return .stored(references[position], hints.isEmpty ? RowHint() : hints[position])
    }
}
