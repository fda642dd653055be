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
    /// The number of entries after which progress is reported.
    private static let entriesPerReport = 1 << 16

    /// Compares an index with the rows.
    mutating func compare(_ index: ValueIndex) throws(EngineError) {
        let view = try snapshot.engineSnapshot.index(index.tree)
        report.indexEntries += view.count
        let wanted = expected[index.number] ?? EntrySum()
        let found = unsafe try sum(view, index.title) { [schema] (key, value) in unsafe try? index.reference(key, value, schema: schema) }
        if found == wanted { return }
        let tables = schema.tables.compactMap(\.self).filter { table in table.indexes.contains { $0.number == index.number } }
        let isRead = !tables.contains(where: isUnread)
        for table in tables where !isUnread(table) {
            var entry = IndexKey()
            try forEachRow(of: table) { (check, row, key) throws(EngineError) in
                guard try index.fillEntry(&entry, from: row, key, of: table) else { return }
                try check.lookUp(entry.bytes, in: view, index, ObjectReference(entityIndex: table.index, key: key))
            }
        }
        if isRead, found.count > wanted.count { problem("The index \(index.title) has \(found.count - wanted.count) entries without a row.") }
    }

    private func isUnread(_ table: EntityTable) -> Bool { unread.contains { $0 === table } }

    private mutating func lookUp(_ key: [UInt8], in view: IndexView, _ index: ValueIndex, _ object: ObjectReference) throws(EngineError) {
        guard let value = try view.get(key) else { return problem("\(name(object)) is missing in the index \(index.title).") }
        let found = unsafe try key.withRawBytes { (key) throws(EngineError) -> ObjectReference in
            unsafe try value.withRawBytes { (value) throws(EngineError) -> ObjectReference in
                unsafe try index.reference(key, value, schema: schema)
            }
        }
        if found != object { problem("The entry of \(name(object)) in the index \(index.title) names another object.") }
    }

    /// Compares the members of a to-many with the rows that name an owner. False if some of these rows cannot be read.
    mutating func compare(_ link: LinkIndex, _ reader: MemberReader) throws(EngineError) -> Bool {
        let wanted = mirrored[ObjectIdentifier(link)] ?? EntrySum()
        let found = unsafe try sum(reader.members, "\(link.relationship)") { [schema] (key, value) in
            guard key.count >= 16 else { return nil }
            return unsafe reader.trees.entityIndex(value, schema: schema).map { unsafe ObjectReference(entityIndex: $0, key: KeyBytes.suffix(key)) }
        }
        if found == wanted { return true }
        let tables = schema.tables.compactMap(\.self).filter { table in table.mirrors.contains { $0.link === link } }
        let isRead = !tables.contains(where: isUnread)
        for table in tables where !isUnread(table) {
            for mirror in table.mirrors where mirror.link === link {
                try forEachRow(of: table) { (check, row, key) throws(EngineError) in
                    guard !row.isNull(mirror.column.column), let target = mirror.column.reference(in: row, schema: check.schema) else { return }
                    try check.lookUp(ObjectReference(entityIndex: table.index, key: key), among: reader, of: target, link)
                }
            }
        }
        if isRead, found.count > wanted.count { problem("“\(link.relationship)” has \(found.count - wanted.count) members that name no such owner.") }
        return isRead
    }

    private mutating func lookUp(
        _ object: ObjectReference, among reader: MemberReader, of owner: ObjectReference, _ link: LinkIndex
    ) throws(EngineError) {
        guard let value = try reader.members.get(MemberTrees.memberKey(owner: owner.key, member: object.key)) else {
            return problem("\(name(object)) is missing among “\(link.relationship.name)” of the object it names.")
        }
        let entity = unsafe value.withUnsafeBytes { unsafe reader.trees.entityIndex($0, schema: schema) }
        if entity != object.entityIndex {
            problem("\(name(object)) has another entity among “\(link.relationship.name)” of the object it names.")
        }
    }

    /// The sum of all entries of an index. `object` returns the object that an entry names.
    private func sum(
        _ view: IndexView, _ part: String, _ object: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> ObjectReference?
    ) throws(EngineError) -> EntrySum {
        let total = view.count
        var sum = EntrySum()
        unsafe try view.forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
            unsafe sum.add(key, object(key, value))
            if sum.count % Self.entriesPerReport == 0 { try progress.report(part, sum.count, total) }
            return true
        }
        return sum
    }
}
