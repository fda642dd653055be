import Foundation
import Hornbeam
import Synchronization

/// A database in memory that several stores use, as several processes use a server. Its rows have versions, and the names of authors are unique.
final class AnsweringDatabase: Sendable {
    struct Content {
        var rows: [UInt64: CustomStoreRow] = [:]
        var lastKey: UInt64 = 0
        var history = AnsweringHistory()
    }

    let identifier = UUID()
    private let content = Mutex(Content())
    private let observers = Mutex<[UUID: @Sendable (ExternalChanges) throws -> Void]>([:])

    func observe(_ handler: @escaping @Sendable (ExternalChanges) throws -> Void, for store: UUID) { observers.withLock { $0[store] = handler } }

    func notify(_ changes: ExternalChanges, except store: UUID) throws {
        for handler in observers.withLock({ observers in observers.filter { $0.key != store }.map(\.value) }) { try handler(changes) }
    }

    func read<Result: Sendable>(_ body: (Content) throws -> Result) rethrows -> Result { try content.withLock { try body($0) } }

    func change<Result: Sendable>(_ body: (inout Content) throws -> Result) rethrows -> Result {
        try content.withLock { content in
            var next = content
            let result = try body(&next)
            content = next
            return result
        }
    }
}

/// A store that answers fetches and counts itself when their conditions and orders read attributes only, and otherwise returns all rows.
final class AnsweringStore: QueryingStore {
    let database: AnsweringDatabase
    let tracked = Mutex(false)
    private let ownIdentifier = UUID()
    private let model = Mutex<ManagedObjectModel?>(nil)
    private let log = Mutex<[String]>([])
    private let afterReading = Mutex<(@Sendable () -> Void)?>(nil)
    private let afterRows = Mutex<(@Sendable () -> Void)?>(nil)

    /// - Parameter answersTables: True to answer with tables where rows have no members.
    init(_ database: AnsweringDatabase = AnsweringDatabase(), announces: Bool = false, answersTables: Bool = false) {
        self.database = database
        self.announces = announces
        self.answersTables = answersTables
    }

    /// A store of another process on the same database.
    convenience init(sharing other: AnsweringStore, announces: Bool = false) {
        self.init(other.database, announces: announces, answersTables: other.answersTables)
    }

    func observeChanges(_ handler: @escaping @Sendable (ExternalChanges) throws -> Void) throws {
        if announces { database.observe(handler, for: ownIdentifier) }
    }

    /// Calls a closure in the next answer, after its rows were read.
    func callAfterReading(_ body: @escaping @Sendable () -> Void) { afterReading.withLock { $0 = body } }

    /// Calls a closure in the next read of known objects, after their rows were read.
    func callAfterRows(_ body: @escaping @Sendable () -> Void) { afterRows.withLock { $0 = body } }

    private func callOnce() { callOnce(afterReading) }

    private func callOnce(_ hook: borrowing Mutex<(@Sendable () -> Void)?>) {
        let body = hook.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }

    /// The calls since the last read, such as “answer 10” or “rows 100”, with the numbers of rows.
    func takeLog() -> [String] {
        log.withLock { log in
            defer { log = [] }
            return log
        }
    }

    /// True if the store announces the saves of other processes.
    private let announces: Bool
    private let answersTables: Bool

    /// The identity of the database after the store was opened. Another one before: containers of one process share stores with equal identities,
    /// and each of these stores stands for a process.
    var identifier: UUID { model.withLock { $0 == nil ? ownIdentifier : database.identifier } }

    func open(_ model: ManagedObjectModel) throws { self.model.withLock { $0 = model } }

    func newKeys(for entityNames: [String]) throws -> [UInt64] {
        database.change { content in
            content.lastKey += UInt64(entityNames.count)
            return (0 ..< entityNames.count).map { content.lastKey - UInt64($0) }.reversed()
        }
    }

    // MARK: Reading

    func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] {
        let rows = database.read { content in
            let all = content.rows
            switch need {
            case .everything: return Array(all.values)
            // Some rows twice, as for objects that are results and related to others.
            case .fetch: return all.values + all.values.filter { $0.object.key.isMultiple(of: 2) }
            case .objects(let keys): return keys.compactMap { all[$0.key] }
            case .members(let owner, let relationship): return members(of: owner, relationship, in: all)
            }
        }
        log.withLock { $0.append("rows \(rows.count)") }
        if case .objects = need { callOnce(afterRows) }
        return rows
    }

    private func members(of owner: CustomStoreKey, _ relationship: String, in all: [UInt64: CustomStoreRow]) -> [CustomStoreRow] {
        let entity = model.withLock { $0?.entitiesByName[owner.entityName] }
        let inverse = entity?.propertiesByName[relationship]?.inverse?.name ?? ""
        return all.values.filter { row in
            row.object == owner || row.destinations[inverse] == owner || row.members[inverse]?.contains(owner) ?? false
                || all[owner.key]?.members[relationship]?.contains(row.object) ?? false
        }
    }

    func answer(_ query: StoreQuery) throws -> StoreAnswer? {
        if query.kind == .groups { return groups(query) }
        if query.kind == .values { return nil }
        guard let test = RowTest(query.condition, query.entity), query.request.sortDescriptors.allSatisfy({ isSimple($0, query.entity) })
        else { return nil }
        let names = Set(query.entities.map(\.name))
        let found = database.read { content in
            content.rows.values.filter { row in
                names.contains(row.object.entityName) && !query.excludedKeys.contains(row.object.key) && test.holds(row)
            }
        }
        let sorted = found.sorted { precedes($0, $1, query.request.sortDescriptors) }
        let rows = sorted.dropFirst(query.request.fetchOffset).prefix(query.request.fetchLimit > 0 ? query.request.fetchLimit : .max)
        log.withLock { $0.append("\(query.kind) \(rows.count)") }
        callOnce()
        if query.kind == .count { return .count(rows.count) }
        guard answersTables else { return .objects(rows.map(\.object), rows: Array(rows)) }
        let plain = rows.filter { $0.members.isEmpty && !query.isCached($0.object.key, version: $0.version ?? 0) }
        return .objects(rows.map(\.object), rows: rows.filter { !$0.members.isEmpty }, tables: tables(plain))
    }

    private func tables(_ rows: [CustomStoreRow]) -> [CustomStoreTable] {
        guard let model = model.withLock({ $0 }) else { return [] }
        return Dictionary(grouping: rows, by: \.object.entityName).compactMap { name, rows in
            guard let entity = model.entitiesByName[name] else { return nil }
            var table = CustomStoreTable(of: entity)
            for row in rows {
                table.beginRow(key: row.object.key, version: row.version ?? 0)
                for property in table.properties {
                    if property.isAttribute {
                        table.append(row.values[property.name] ?? .null)
                    } else {
                        let target = row.destinations[property.name]
                        table.append(destination: target?.key, target.flatMap { model.entitiesByName[$0.entityName] })
                    }
                }
            }
            return table
        }
    }

    /// Groups by one attribute, with the number of objects.
    private func groups(_ query: StoreQuery) -> StoreAnswer? {
        guard let grouping = query.grouping, grouping.totals.map(\.function) == [.count], grouping.totals[0].path == nil, grouping.keys.count == 1,
            let key = grouping.keys[0].first, grouping.keys[0].count == 1, let test = RowTest(query.condition, query.entity)
        else { return nil }
        let names = Set(query.entities.map(\.name))
        var counts: [(value: PropertyValue, count: Int64, first: UInt64)] = []
        let rows = database.read { $0.rows.values.filter { names.contains($0.object.entityName) && test.holds($0) } }
        for row in rows.sorted(by: { $0.object.key < $1.object.key }) {
            let value = row.values[key] ?? .null
            if let place = counts.firstIndex(where: { $0.value == value }) { counts[place].count += 1 } else { counts.append((value, 1, row.object.key)) }
        }
        log.withLock { $0.append("groups \(counts.count)") }
        return .groups(counts.map { StoreGroup(keys: [$0.value], totals: [.int($0.count)], first: $0.first) })
    }

    private func isSimple(_ sort: FetchSort, _ entity: EntityDescription) -> Bool {
        sort.comparison == .standard && entity.attributesByName[sort.keyPath]?.derivation == nil && entity.attributesByName[sort.keyPath] != nil
    }

    private func precedes(_ a: CustomStoreRow, _ b: CustomStoreRow, _ sorts: [FetchSort]) -> Bool {
        for sort in sorts {
            let order = (a.values[sort.keyPath] ?? .null).sortOrder(to: b.values[sort.keyPath] ?? .null)
            if order != .same { return order == (sort.isAscending ? .less : .greater) }
        }
        return a.object.key < b.object.key
    }

    // MARK: Saving

    func save(_ changes: CustomStoreChanges) throws {
        try database.change { content in
            try check(changes, content)
            if let entry = changes.history { content.history.append(entry) }
            for row in changes.inserted {
                content.rows[row.object.key] = row
                content.rows[row.object.key]?.version = 1
            }
            var rows = CustomRows(rows: content.rows)
            var others = changes
            others.inserted = []
            rows.apply(others)
            content.rows = rows.rows
            for row in changes.updated { content.rows[row.object.key]?.version = (changes.versions[row.object] ?? 0) + 1 }
        }
        let changed = changes.inserted.map(\.object) + changes.updated.map(\.object) + changes.members.flatMap { [$0.owner] + $0.added + $0.removed }
        try database.notify(ExternalChanges(changed: changed, deleted: changes.deleted), except: ownIdentifier)
    }

    private func check(_ changes: CustomStoreChanges, _ content: AnsweringDatabase.Content) throws {
        var conflict = CustomStoreConflict()
        for (object, version) in changes.versions where content.rows[object.key]?.version != version {
            if let row = content.rows[object.key] { conflict.rows.append(row) } else { conflict.deleted.append(object) }
        }
        let names = Set((changes.inserted + changes.updated).filter { $0.object.entityName == "Author" }.compactMap { $0.values["name"] })
        let changed = Set((changes.updated.map(\.object) + changes.deleted).map(\.key))
        conflict.rows += content.rows.values.filter { row in
            row.object.entityName == "Author" && !changed.contains(row.object.key) && names.contains(row.values["name"] ?? .null)
        }
        if !conflict.rows.isEmpty || !conflict.deleted.isEmpty { throw conflict }
        // A rule that the model does not have.
        let unborn = (changes.inserted + changes.updated).filter { $0.values["born"] == .int(-1) }
        guard let first = unborn.first?.object else { return }
        throw CustomStoreViolation(
            error: HornbeamError(.validation, "Authors are born after the year −1.", entity: first.entityName, key: "born"), objects: unborn.map(\.object))
    }
}

/// A condition on the attributes of a row.
private struct RowTest {
    private let condition: StoreCondition

    /// Nil if the condition reads more than attributes, or has operators of texts.
    init?(_ condition: StoreCondition, _ entity: EntityDescription) {
        guard Self.isSimple(condition, entity) else { return nil }
        self.condition = condition
    }

    private static func isSimple(_ condition: StoreCondition, _ entity: EntityDescription) -> Bool {
        switch condition {
        case .constant: return true
        case .all(let parts), .any(let parts): return parts.allSatisfy { isSimple($0, entity) }
        case .not(let part): return isSimple(part, entity)
        case .expressions, .other: return false
        case .comparison(let comparison):
            guard comparison.path.count == 1, let property = entity.attributesByName[comparison.path[0]], property.derivation == nil,
                !property.isTransient, comparison.quantifier == .none, comparison.options.isEmpty
            else { return false }
            return [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .in].contains(comparison.comparator)
        }
    }

    func holds(_ row: CustomStoreRow) -> Bool { holds(condition, row) }

    private func holds(_ condition: StoreCondition, _ row: CustomStoreRow) -> Bool {
        switch condition {
        case .constant(let value): value
        case .all(let parts): parts.allSatisfy { holds($0, row) }
        case .any(let parts): parts.contains { holds($0, row) }
        case .not(let part): !holds(part, row)
        case .comparison(let comparison): holds(comparison, row.values[comparison.path[0]] ?? .null)
        case .expressions, .other: false
        }
    }

    private func holds(_ comparison: StoreComparison, _ value: PropertyValue) -> Bool {
        let order = value.compared(to: comparison.value)
        return switch comparison.comparator {
        case .equal: value.isEqual(to: comparison.value)
        case .notEqual: !value.isEqual(to: comparison.value)
        case .less: order == .less
        case .lessOrEqual: order == .less || order == .same
        case .greater: order == .greater
        case .greaterOrEqual: order == .greater || order == .same
        case .in: members(comparison.value).contains { value.isEqual(to: $0) }
        default: false
        }
    }

    private func members(_ value: PropertyValue) -> [PropertyValue] {
        switch value {
        case .array(let values): values
        case .set(let values): Array(values)
        default: []
        }
    }
}
