/// The form of a component of index keys. Without references, so that making a key counts none.
struct KeyForm: Sendable {
    let type: CellType
    var isAscending: Bool
    let collation: KeyCollation
}
