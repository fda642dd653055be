package import HornbeamModel

extension StoreSnapshot {
    /// The reader for the cells of a concrete entity's objects.
    package func cells(_ entity: EntityDescription) -> CellReader {
        let table = schema.table(entity)
        return unsafe CellReader(cells(table), table.cells)
    }
}
