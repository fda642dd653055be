internal import HornbeamEngine

/// Fills an index from the stored rows.
enum IndexBuilder {
    /// Returns the number of rows that violate a unique constraint. The transaction must have started from `snapshot`.
    @discardableResult
    static func build(
        _ index: ValueIndex, from snapshot: Snapshot, in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> Int {
        var key = IndexKey()
        var doubles = 0
        for table in schema.tables(of: index.entity, includingSubentities: true) {
            let value = index.isPolymorphic ? EntityNumber.bytes(table.number) : []
            try snapshot.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    try index.fill(&key, from: leaf.row(slot), of: table)
                    if key.isExcluded || (index.isUnique && key.hasNull) { continue }
                    if key.isTruncated { try transaction.setValue(index.truncatedKeysName, [1]) }
                    guard !index.isUnique else {
                        let object = ObjectReference(entityIndex: table.index, key: leaf.key(slot))
                        let holder = try UniqueKeys.claim(index, &key, for: object, in: transaction, schema: schema)
                        doubles += holder == nil ? 0 : 1
                        continue
                    }
                    key.append(objectKey: leaf.key(slot))
                    try transaction.put(key.bytes, value, in: index.tree)
                }
                return true
            }
        }
        return doubles
    }
}
