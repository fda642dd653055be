internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Checks everything: pages and trees, each row against its indexes and each index against its rows, relationships against
    /// their inverses. Reads the whole store; saves may run at the same time.
    ///
    /// - Throws: Errors that prevent the check, and errors of `progress`. The report contains the faults of the store.
    package func check(progress: ((StoreProgress) throws -> Void)? = nil) throws -> StoreCheckReport {
        let relay = ProgressRelay(progress)
        let engineReport = try relay.translated { () throws(EngineError) in
            try engine.check(progress: relay.engineReport)
        }
        var check = StoreCheck(try snapshot(), relay)
        try check.run()
        check.report.pages = engineReport.pages
        check.report.trees = engineReport.trees
        check.report.problems = engineReport.problems + check.report.problems
        return check.report
    }
}

/// One pass over all tables, indexes and relationships of a snapshot.
struct StoreCheck {
    var report = StoreCheckReport()
    let snapshot: StoreSnapshot
    let progress: ProgressRelay
    /// The maximum number of problems of one part that are listed. Further problems are counted.
    private static let problemsMax = 20
    private var problemsOfPart = 0
    /// The expected entries of each index.
    var expected: [Int: EntrySum] = [:]
    /// The expected members of each to-many with a to-one inverse.
    var mirrored: [ObjectIdentifier: EntrySum] = [:]
    /// Tables with unreadable rows: the expected entries of their indexes are unknown.
    private(set) var unread: [EntityTable] = []

    init(_ snapshot: StoreSnapshot, _ progress: ProgressRelay) {
        self.snapshot = snapshot
        self.progress = progress
    }

    var schema: Schema { snapshot.schema }

    mutating func run() throws {
        for case let table? in schema.tables { try guarded(table.entity.name) { try $0.check(table) } }
        for index in schema.indexes { try guarded(index.title) { try $0.compare(index) } }
        for table in unread { report.problems.append("\(table.entity.name): its indexes were not compared with rows that cannot be read.") }
        for link in schema.links { try guarded(link.relationship.description) { try $0.check(link) } }
        try guarded("history") { try $0.checkHistory() }
    }

    /// Checks one part. Damage ends the check of this part, and the other parts are still checked.
    private mutating func guarded(_ part: String, _ body: (inout StoreCheck) throws -> Void) throws {
        endPart(part)
        do {
            try body(&self)
        } catch let error as EngineError where error.isUnreadable {
            report.problems.append("\(part): \(error.message)")
        } catch let error as EngineError {
            try progress.translated { () throws(EngineError) in throw error }
        }
        endPart(part)
    }

    private mutating func endPart(_ part: String) {
        if problemsOfPart > Self.problemsMax {
            report.problems.append("\(part): \(problemsOfPart - Self.problemsMax) more problems.")
        }
        problemsOfPart = 0
    }

    mutating func problem(_ text: String) {
        problemsOfPart += 1
        if problemsOfPart <= Self.problemsMax { report.problems.append(text) }
    }

    // MARK: Rows against indexes

    private mutating func check(_ table: EntityTable) throws {
        let unreadable = try forEachRow(of: table) { (check, row, key) throws(EngineError) in try check.check(row, key, table) }
        if unreadable == 0 { return }
        problem("\(table.entity.name) has \(unreadable) rows that cannot be read.")
        recordUnread(table)
    }

    private mutating func recordUnread(_ table: EntityTable) {
        if !unread.contains(where: { $0 === table }) { unread.append(table) }
    }

    private mutating func check(_ row: RowView, _ key: UInt64, _ table: EntityTable) throws(EngineError) {
        report.rows += 1
        let object = ObjectReference(entityIndex: table.index, key: key)
        if row.load(EntityTable.versionColumn, as: UInt32.self) == 0 {
            problem("\(table.entity.name) \(key) has no version.")
        }
        var indexKey = IndexKey()
        for index in table.indexes {
            let hasEntry = try Self.undamaged { () throws(EngineError) in try index.fillEntry(&indexKey, from: row, key, of: table) }
            if hasEntry == true { unsafe indexKey.bytes.withRawBytes { unsafe expected[index.number, default: EntrySum()].add($0, object) } }
            if hasEntry != nil { continue }
            problem("\(name(object)) has a value of the index \(index.title) that cannot be read.")
            recordUnread(table)
        }
        for case let column? in table.columns where column.type == .reference && !row.isNull(column.column) {
            try check(column, row, object, table)
        }
    }

    private mutating func check(
        _ column: StoredColumn, _ row: RowView, _ object: ObjectReference, _ table: EntityTable
    ) throws(EngineError) {
        guard let target = column.reference(in: row, schema: schema) else {
            return problem("“\(column.property.name)” of \(name(object)) names an object of an entity that it cannot have.")
        }
        let targetTable = schema.table(at: target.entityIndex)
        let back = try Self.undamaged { () throws(EngineError) in try backReference(column, target, targetTable) }
        if back == nil { problem("“\(column.property.name)” of \(name(object)) names an object that cannot be read.") }
        if back == .gone { report.danglingReferences += 1 }
        if let mirror = table.mirrors.first(where: { $0.column.column == column.column }) {
            let key = MemberTrees.memberKey(owner: target.key, member: object.key)
            unsafe key.withRawBytes { unsafe mirrored[ObjectIdentifier(mirror.link), default: EntrySum()].add($0, object) }
        } else if case .other(let other) = back, other != object {
            problem("“\(column.property.name)” of \(name(object)) names an object whose inverse names another one.")
        }
    }

    func name(_ object: ObjectReference) -> String { "\(schema.model.entities[Int(object.entityIndex)].name) \(object.key)" }

    private enum BackReference: Equatable {
        case gone
        case none
        case other(ObjectReference?)
    }

    /// The value of the inverse to-one in the target of a to-one.
    private func backReference(
        _ column: StoredColumn, _ target: ObjectReference, _ table: EntityTable
    ) throws(EngineError) -> BackReference {
        let inverse = column.property.inverse.flatMap { $0.isToOne ? table.columns[$0.index] : nil }
        return try snapshot.view(table).withRow(target.key) { (row) throws(EngineError) -> BackReference in
            guard let inverse else { return .none }
            return .other(inverse.reference(in: row, schema: schema))
        } ?? .gone
    }

    // MARK: Relationships

    private mutating func check(_ link: LinkIndex) throws(EngineError) {
        let reader = try snapshot.members(link.relationship)
        let count = reader.members.count
        report.links += count
        if link.kind == .mirror {
            guard try compare(link, reader) else { return }
        } else {
            try checkBothEnds(link, reader)
        }
        if let order = reader.order, order.count != count {
            problem("“\(link.relationship)” has \(count) members and \(order.count) positions.")
        }
    }

    private mutating func checkBothEnds(_ link: LinkIndex, _ reader: MemberReader) throws(EngineError) {
        guard let backward = link.backward else { return }
        let (snapshot, schema) = (snapshot, schema)
        let back = try MemberReader(backward, schema: schema) { (id) throws(EngineError) in
            try snapshot.engineSnapshot.index(id)
        }
        if back.members.count != reader.members.count {
            problem("“\(link.relationship)” has \(reader.members.count) links and its other side \(back.members.count).")
        }
        var copy = self
        defer { self = copy }
        var unknown = 0
        let unreadable = unsafe try forEachEntry(of: reader.members, "\(link.relationship)") { (key, value) throws(EngineError) in
            guard key.count >= 16 else { return copy.problem("“\(link.relationship)” has an entry of \(key.count) bytes.") }
            let owner = unsafe KeyBytes.number(key, at: 0)
            let member = unsafe KeyBytes.suffix(key)
            let isMutual = try Self.undamaged { () throws(EngineError) in try back.contains(owner, owner: member) }
            if isMutual == false { copy.problem("“\(link.relationship)” links \(owner) to \(member), and its other side does not.") }
            let entity = unsafe reader.trees.entityIndex(value, schema: schema) ?? -1
            let isStored = entity < 0 ? false : try Self.undamaged { () throws(EngineError) in
                try snapshot.view(schema.table(at: entity)).contains(member)
            }
            if isStored == false { copy.problem("“\(link.relationship)” links \(owner) to \(member), which is no stored object.") }
            if isMutual == nil || isStored == nil { unknown += 1 }
        }
        if unreadable > 0 { copy.problem("“\(link.relationship)” has \(unreadable) members that cannot be read.") }
        if unknown > 0 { copy.problem("“\(link.relationship)” has \(unknown) members whose object or other side cannot be read.") }
    }
}
