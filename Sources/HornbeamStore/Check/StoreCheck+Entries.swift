// Compares the entries of an index, or the members of a to-many, with the rows.
//
// Both sides are summed in their own order, so that no page is read twice: a lookup for each row would read a page for each of them in a store that is
// larger than the pool. Only if the sums differ, each row is looked up, to name what is missing.

internal import HornbeamEngine
internal import HornbeamModel

/// A set of entries as their number and the sum of their hashes.
///
/// Two different sets have the same sum with a probability of 2⁻⁶⁴. The seed of the hash is random in each process, so no file can be made to pass.
struct EntrySum: Equatable {
    private(set) var count = 0
    private var hashes = 0

    /// - Parameter object: The object that the entry names; nil if it cannot be read.
    mutating func add(_ key: UnsafeRawBufferPointer, _ object: ObjectReference?) {
        var hasher = Hasher()
        hasher.combine(key.count)
        unsafe hasher.combine(bytes: key)
        hasher.combine(object)
        hashes &+= hasher.finalize()
        count += 1
    }
}

extension ValueIndex {
    /// Makes the key of a row's entry; false if the row has none.
    func fillEntry(_ entry: inout IndexKey, from row: RowView, _ key: UInt64, of table: EntityTable) throws(EngineError) -> Bool {
        try fill(&entry, from: row, of: table)
        if entry.isExcluded || (isUnique && entry.hasNull) { return false }
        if entry.isTruncated || !isUnique { entry.append(objectKey: key) }
        return true
    }
}

extension StoreCheck {
    /// Compares an index with the rows.
    mutating func compare(_ index: ValueIndex) throws(EngineError) {
        let view = try snapshot.engineSnapshot.index(index.tree)
        report.indexEntries += view.count
        let wanted = expected[index.number] ?? EntrySum()
        let (found, unreadable) = unsafe try sum(view, index.title) { [schema] (key, value) in unsafe try? index.reference(key, value, schema: schema) }
        if unreadable > 0 { problem("The index \(index.title) has \(unreadable) entries that cannot be read.") }
        if found == wanted { return }
        let tables = schema.tables.compactMap(\.self).filter { table in table.indexes.contains { $0.number == index.number } }
        var present = 0
        for table in tables {
            var entry = IndexKey()
            try forEachRow(of: table) { (check, row, key) throws(EngineError) in
                let hasEntry = try Self.undamaged { () throws(EngineError) in try index.fillEntry(&entry, from: row, key, of: table) }
                guard hasEntry == true else { return }
                if try check.isPresent(entry.bytes, in: view, index, ObjectReference(entityIndex: table.index, key: key)) { present += 1 }
            }
        }
        guard !tables.contains(where: isUnread), found.count > present else { return }
        problem("The index \(index.title) has \(found.count - present) entries without a row.")
    }

    private func isUnread(_ table: EntityTable) -> Bool { unread.contains { $0 === table } }

    /// True if the index has the key of a row. Lists the problem if the entry is missing or wrong.
    private mutating func isPresent(
        _ key: [UInt8], in view: IndexView, _ index: ValueIndex, _ object: ObjectReference
    ) throws(EngineError) -> Bool {
        // The entries that cannot be read are listed together.
        guard let stored = try Self.undamaged({ () throws(EngineError) in try view.get(key) }) else { return false }
        guard let value = stored else {
            problem("\(name(object)) is missing in the index \(index.title).")
            return false
        }
        let found = try Self.undamaged { [schema] () throws(EngineError) in
            unsafe try key.withRawBytes { (key) throws(EngineError) -> ObjectReference in
                unsafe try value.withRawBytes { (value) throws(EngineError) -> ObjectReference in
                    unsafe try index.reference(key, value, schema: schema)
                }
            }
        }
        if found == nil {
            problem("The entry of \(name(object)) in the index \(index.title) names no object.")
        } else if found != object {
            problem("The entry of \(name(object)) in the index \(index.title) names another object.")
        }
        return true
    }

    /// Compares the members of a to-many with the rows that name an owner. False if some of these rows or members cannot be read.
    mutating func compare(_ link: LinkIndex, _ reader: MemberReader) throws(EngineError) -> Bool {
        let wanted = mirrored[ObjectIdentifier(link)] ?? EntrySum()
        let (found, unreadable) = unsafe try sum(reader.members, "\(link.relationship)") { [schema] (key, value) in
            guard key.count >= 16 else { return nil }
            return unsafe reader.trees.entityIndex(value, schema: schema).map { unsafe ObjectReference(entityIndex: $0, key: KeyBytes.suffix(key)) }
        }
        if unreadable > 0 { problem("“\(link.relationship)” has \(unreadable) members that cannot be read.") }
        if found == wanted { return unreadable == 0 }
        let tables = schema.tables.compactMap(\.self).filter { table in table.mirrors.contains { $0.link === link } }
        var present = 0
        for table in tables {
            for mirror in table.mirrors where mirror.link === link {
                try forEachRow(of: table) { (check, row, key) throws(EngineError) in
                    guard !row.isNull(mirror.column.column), let target = mirror.column.reference(in: row, schema: check.schema) else { return }
                    if try check.isPresent(ObjectReference(entityIndex: table.index, key: key), among: reader, of: target, link) { present += 1 }
                }
            }
        }
        if tables.contains(where: isUnread) { return false }
        if found.count > present { problem("“\(link.relationship)” has \(found.count - present) members that name no such owner.") }
        return unreadable == 0
    }

    /// True if the object is among the members of its owner. Lists the problem if the member is missing or wrong.
    private mutating func isPresent(
        _ object: ObjectReference, among reader: MemberReader, of owner: ObjectReference, _ link: LinkIndex
    ) throws(EngineError) -> Bool {
        let key = MemberTrees.memberKey(owner: owner.key, member: object.key)
        guard let stored = try Self.undamaged({ () throws(EngineError) in try reader.members.get(key) }) else { return false }
        guard let value = stored else {
            problem("\(name(object)) is missing among “\(link.relationship.name)” of the object it names.")
            return false
        }
        let entity = unsafe value.withUnsafeBytes { unsafe reader.trees.entityIndex($0, schema: schema) }
        if entity != object.entityIndex {
            problem("\(name(object)) has another entity among “\(link.relationship.name)” of the object it names.")
        }
        return true
    }

    /// The sum of the entries of an index that can be read, and the number of the others. `object` returns the object that an entry names.
    private func sum(
        _ view: IndexView, _ part: String, _ object: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> ObjectReference?
    ) throws(EngineError) -> (sum: EntrySum, unreadable: Int) {
        var sum = EntrySum()
        let unreadable = unsafe try forEachEntry(of: view, part) { (key, value) throws(EngineError) in unsafe sum.add(key, object(key, value)) }
        return (sum, unreadable)
    }
}
