internal import HornbeamEngine
internal import HornbeamModel

/// The table of one concrete entity, and the column of each property. Safe: it owns the memory behind `cells`.
@safe final class EntityTable: Sendable {
    /// The column of the version number: four bytes, 1 at insertion, incremented by each save.
    static let versionColumn = 0
    static let versionColumnID = ColumnID(0)

    /// The version of a row after a change. The first version follows the largest one, since 0 means that there is no row.
    static func version(after version: UInt32) -> UInt32 { version == .max ? 1 : version + 1 }

    let entity: EntityDescription
    let index: Int32
    /// The position among the store's tables.
    let slot: Int
    /// The entity's number in the store, never reused.
    let number: UInt32
    let tree: TreeID
    let layout: ColumnLayout
    /// Indexed by property index; nil for a property without a column.
    let columns: [StoredColumn?]
    /// `columns` without references, so that getters need no reference counting. Indexed by property index.
    nonisolated(unsafe) let cells: UnsafePointer<CellColumn>  // never changes after `init`
    /// Unique constraints and fetch indexes over the entity's rows.
    let indexes: [ValueIndex]
    let hasUniqueIndexes: Bool
    /// True if a unique constraint contains a derived attribute.
    let hasDerivedUniqueIndexes: Bool
    /// The to-ones whose inverse is a to-many. A change of such a to-one moves an entry in the members index of the inverse.
    let mirrors: [Mirror]
    /// The many-to-many and one-way relationships, as owner and as member. When a row is deleted, its entries in them are removed.
    let linksAsOwner: [LinkIndex]
    let linksAsMember: [LinkIndex]

    struct Mirror: Sendable {
        let column: StoredColumn
        let link: LinkIndex
    }

    init(
        entity: EntityDescription, slot: Int, number: UInt32, tree: TreeID, layout: ColumnLayout, columns: [StoredColumn?],
        indexes: [ValueIndex], mirrors: [Mirror], linksAsOwner: [LinkIndex], linksAsMember: [LinkIndex]
    ) {
        self.entity = entity
        index = Int32(entity.index)
        self.slot = slot
        self.number = number
        self.tree = tree
        self.layout = layout
        self.columns = columns
        let cells = UnsafeMutablePointer<CellColumn>.allocate(capacity: max(columns.count, 1))
        for (index, column) in columns.enumerated() {
            unsafe (cells + index).initialize(to: CellColumn(position: column?.column ?? -1, type: column?.type))
        }
        unsafe self.cells = unsafe UnsafePointer(cells)
        self.indexes = indexes
        hasUniqueIndexes = indexes.contains(where: \.isUnique)
        hasDerivedUniqueIndexes = indexes.contains { $0.isUnique && $0.properties.contains(where: \.isDerived) }
        self.mirrors = mirrors
        self.linksAsOwner = linksAsOwner
        self.linksAsMember = linksAsMember
    }

    deinit { unsafe cells.deallocate() }

    /// The column of an attribute or a to-one.
    @inline(__always)
    func column(_ property: PropertyDescription) -> StoredColumn {
        guard let column = columns[property.index] else { missingColumn(property) }
        return column
    }

    @inline(never)
    private func missingColumn(_ property: PropertyDescription) -> Never {
        preconditionFailure("“\(property.name)” of \(entity.name) has no column: it is a to-many or transient.")
    }
}

/// The column of one property.
struct StoredColumn: Sendable {
    let property: PropertyDescription
    let type: CellType
    /// The position in the table's layout.
    let column: Int
    /// The column with the destination's entity number; -1 when the destination is always `destination`.
    let entityColumn: Int
    /// The index of the only concrete destination entity; -1 when there is none.
    let onlyDestination: Int32
    /// The index of the declared destination entity; -1 for an attribute.
    let destination: Int32
}
