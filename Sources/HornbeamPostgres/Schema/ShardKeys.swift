#if Postgres
public import HornbeamModel
internal import HornbeamThreads

// The shard key of an entity: an attribute whose value is equal in objects that are related, so that the rows of a value can be on one node.
//
// The user info `postgres.shard` of a root entity names the attribute. Primary keys, unique constraints and joins contain its column, and saves and reads of
// rows by their keys name its value. Entities without a shard key are small and are on each node; they do not refer to entities with one.

/// The value of a shard key as the text of a parameter. Compared by bytes, as on the server: canonically equivalent texts can be different keys.
struct ShardKey: Hashable, Comparable, Sendable {
    let text: String

    static func == (a: Self, b: Self) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
    static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
    func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }

    /// The order of the parts of a save, and of groups of rows. No shard key comes first.
    static func precedes(_ a: Self?, _ b: Self?) -> Bool {
        guard let b else { return false }
        return a.map { $0 < b } ?? true
    }
}

/// The shard keys of the rows that a store has read or written.
final class ShardMap: Sendable {
    private let keys = Guarded<[CustomStoreKey: ShardKey]>([:])

    subscript(object: CustomStoreKey) -> ShardKey? { keys.withLock { $0[object] } }

    func remember(_ text: String?, of object: CustomStoreKey) {
        guard let text else { return }
        keys.withLock { $0[object] = ShardKey(text: text) }
    }
}

extension StoreLayout {
    /// True if an entity has a shard key.
    var isSharded: Bool { tables.contains { $0.shard != nil } }

    /// The shard key of a row; nil for an unknown one and for entities without one.
    func shard(of object: CustomStoreKey) -> ShardKey? { (try? table(of: object.entityName))?.shard == nil ? nil : shards[object] }

    /// Remembers the shard key of a row.
    func rememberShard(of row: CustomStoreRow) throws {
        guard let column = try table(of: row.object.entityName).shard, let value = row.values[column.property.name] else { return }
        shards.remember(try column.text(of: value), of: row.object)
    }

    /// Keys of rows by table and shard key, in order. Those with an unknown shard key have a group of their own.
    func groups(_ keys: [CustomStoreKey]) throws -> [(table: TableLayout, shard: String?, keys: [UInt64])] {
        var groups: [String: (table: TableLayout, keys: [ShardKey?: [UInt64]])] = [:]
        for key in keys {
            let table = try table(of: key.entityName)
            groups[table.name, default: (table, [:])].keys[table.shard == nil ? nil : shards[key], default: []].append(key.key)
        }
        return groups.sorted { $0.key < $1.key }.flatMap { _, group in
            group.keys.sorted { ShardKey.precedes($0.key, $1.key) }.map { (group.table, $0.key?.text, $0.value) }
        }
    }

    /// ` AND t.tenant = d.tenant` for two sharded tables.
    static func sameShard(_ a: TableLayout, _ alias: String, _ b: TableLayout, _ other: String) -> String {
        guard let first = a.shard, let second = b.shard else { return "" }
        return " AND \(alias).\(first.name) = \(other).\(second.name)"
    }

    /// - Throws: `modelMismatch` for a model whose shard keys cannot be kept.
    func checkShards() throws {
        guard isSharded else { return }
        for unique in uniques {
            guard let shard = unique.table.shard, !unique.columns.contains(shard.name) else { continue }
            throw HornbeamError(
                .modelMismatch,
                "The unique value \(unique.entity.name).\(unique.names.joined(separator: ", ")) does not contain the shard key \(shard.property.name). A "
                    + "distributed table compares values within one shard key only. Add it to the constraint.",
                entity: unique.entity.name, key: unique.names.first)
        }
        let types = Set(tables.compactMap { $0.shard?.parameterType })
        if types.count > 1 {
            throw HornbeamError(.modelMismatch, "The shard keys of a store have one type. These have the types \(types.sorted().joined(separator: ", ")).")
        }
        for table in tables where table.shard == nil {
            for column in table.columns where column.property.isRelationship { try refuseSharded(column.property) }
        }
        for join in joins {
            let ends = try [join.relationship.entity, join.relationship.destinationEntity ?? join.relationship.entity].map { try self.table(of: $0.name) }
            if (ends[0].shard == nil) != (ends[1].shard == nil) || join.isMapped && ends[0].shard != nil { throw unsharded(join.relationship) }
        }
    }

    private func refuseSharded(_ relationship: PropertyDescription) throws {
        if try table(of: relationship.destinationEntity?.name ?? "").shard != nil { throw unsharded(relationship) }
    }

    private func unsharded(_ relationship: PropertyDescription) -> HornbeamError {
        HornbeamError(
            .modelMismatch,
            "\(relationship.entity.name).\(relationship.name) relates objects with a shard key and objects without one. Only a to-one relationship of an "
                + "entity with a shard key may do so.", entity: relationship.entity.name, key: relationship.name)
    }

    /// The statements that distribute the tables with Citus.
    var distribution: [String] {
        var statements: [String] = []
        var first: String?
        func distribute(_ table: String, _ column: String?) {
            guard let column else { return statements.append("SELECT create_reference_table(\(SQLText.literal(table)))") }
            let place = first.map { ", colocate_with => \(SQLText.literal($0))" } ?? ""
            statements.append("SELECT create_distributed_table(\(SQLText.literal(table)), \(SQLText.literal(SQLText.unquoted(column)))\(place))")
            first = first ?? table
        }
        for table in tables { distribute(table.name, table.shard?.name) }
        for join in joins { distribute(join.name, join.shard.map { _ in JoinTable.shardColumn }) }
        return statements
    }
}

extension PostgresStore {
    /// The statements that distribute the tables of a model with Citus, for tables that were made before the extension. A store that is opened in an empty
    /// schema executes them itself if the database has the extension `citus`.
    ///
    /// - Throws: `modelMismatch` for a model whose shard keys cannot be kept.
    public static func distributionStatements(for model: ManagedObjectModel, schema: String = "public") throws -> [String] {
        let layout = try StoreLayout(model, schema: schema)
        return layout.isSharded ? layout.distribution : []
    }
}

/// The changes of a save by shard key.
struct ShardedChanges {
    private(set) var parts: [(shard: String?, changes: CustomStoreChanges)] = []
    private let layout: StoreLayout
    private var own: [CustomStoreKey: ShardKey] = [:]

    /// - Throws: `relationshipAcrossStores` for related objects with different shard keys, `unsupportedRequest` for a change of a shard key.
    init(_ changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        self.layout = layout
        for row in changes.inserted {
            guard let column = try layout.table(of: row.object.entityName).shard else { continue }
            own[row.object] = try column.text(of: row.values[column.property.name] ?? .null).map { ShardKey(text: $0) }
        }
        var all: [ShardKey?: CustomStoreChanges] = [:]
        for row in changes.inserted {
            try check(row)
            all[shard(row.object), default: .init()].inserted.append(row)
        }
        for row in changes.updated {
            try check(row)
            try checkUnchanged(row)
            all[shard(row.object), default: .init()].updated.append(row)
        }
        for (object, names) in changes.cleared { all[shard(object), default: .init()].cleared[object] = names }
        for object in changes.deleted { all[shard(object), default: .init()].deleted.append(object) }
        for (object, version) in changes.versions { all[shard(object), default: .init()].versions[object] = version }
        for change in changes.members {
            for member in change.added { try check(change.owner, member, change.relationship) }
            all[shard(change.owner), default: .init()].members.append(change)
        }
        parts = all.sorted { ShardKey.precedes($0.key, $1.key) }.map { ($0.key?.text, $0.value) }
    }

    private func shard(_ object: CustomStoreKey) -> ShardKey? { own[object] ?? layout.shard(of: object) }

    /// The objects of which the shard key must be known.
    static func objects(of changes: CustomStoreChanges) -> [CustomStoreKey] {
        let related = (changes.inserted + changes.updated).flatMap { $0.destinations.values } + changes.members.flatMap { [$0.owner] + $0.added + $0.removed }
        return changes.updated.map(\.object) + changes.deleted + changes.versions.keys + related
    }

    private func check(_ row: CustomStoreRow) throws {
        for (name, destination) in row.destinations { try check(row.object, destination, name) }
    }

    private func check(_ owner: CustomStoreKey, _ member: CustomStoreKey, _ relationship: String) throws {
        guard let column = try layout.table(of: owner.entityName).shard, try layout.table(of: member.entityName).shard != nil, shard(owner) != shard(member)
        else { return }
        throw HornbeamError(
            .relationshipAcrossStores,
            "\(owner.entityName).\(relationship) refers to an object with another shard key. Related objects have the same value of \(column.property.name). "
                + "Nothing was written.", entity: owner.entityName, key: relationship)
    }

    private func checkUnchanged(_ row: CustomStoreRow) throws {
        guard let column = try layout.table(of: row.object.entityName).shard, let value = row.values[column.property.name],
            try column.text(of: value).map({ ShardKey(text: $0) }) != shard(row.object)
        else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "\(row.object.entityName).\(column.property.name) is the shard key, which a stored object keeps. Insert a new object, and delete this one. Nothing "
                + "was written.", entity: row.object.entityName, key: column.property.name)
    }
}
#endif
