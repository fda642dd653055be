import Foundation
import Hornbeam

/// Accounts with entries, in one or two stores, that several processes change at the same time.
///
/// Invariants of each committed state: the balance of an account is the sum of its entries; each entry has an account; with two stores, the second
/// one has a line for each entry.
struct Ledger {
    /// The folder of the stores. It also has a file with the version of the model.
    let folder: URL
    let hasTwoStores: Bool
    /// The schema on a PostgreSQL server with the rows; nil for stores in the folder.
    var schema: String?

    static let accountCount = 6
    /// The seconds by which the clock of a process is wrong at most. Below half the age at which history is deleted.
    private static let clockOffsetMax = 3.0 * 86_400

    /// The model of a version. Each version adds an attribute.
    static func model(_ version: Int) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Account") {
                Attribute<Int>("number", unique: true)
                Attribute<Int>("balance", default: 0)
                Attribute<Int?>("size", derivation: "entries.@count")
                ToMany("entries", to: "Entry", inverse: "account")
                for addition in 0..<version { Attribute<String?>("note\(addition)") }
            }
            Entity("Entry") {
                Attribute<String>("tag", unique: true)
                Attribute<Int>("amount")
                ToOne("account", to: "Account", inverse: "entries")
            }
            Entity("Line") { Attribute<String>("tag", unique: true) }
            Configuration("Accounts", ["Account", "Entry"])
            Configuration("Lines", ["Line"])
        }
    }

    private var versionFile: URL { folder.appendingPathComponent("version") }

    /// The version that processes use when they open the store.
    var version: Int { (try? String(contentsOf: versionFile, encoding: .utf8)).flatMap { Int($0) } ?? 0 }
    func setVersion(_ version: Int) throws { try String(version).write(to: versionFile, atomically: true, encoding: .utf8) }

    /// True if the store has been migrated to `version`.
    var isOfNewestVersion: Bool {
        guard let container = try? open(isReadOnly: true) else { return false }
        try? container.close()
        return true
    }

    func open(isShared: Bool = true, isReadOnly: Bool = false) throws -> PersistentContainer {
        guard let schema else { return try Self.open(urls, version, isShared: isShared, isReadOnly: isReadOnly) }
        return try ServerStores.open(schema, model: Self.model(version))
    }

    var urls: [URL] {
        (hasTwoStores ? ["accounts", "lines"] : ["accounts"]).map { folder.appendingPathComponent("\($0).hornbeam") }
    }

    static func open(_ urls: [URL], _ version: Int, isShared: Bool, isReadOnly: Bool = false) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Ledger", model: model(version))
        container.persistentStoreDescriptions = urls.enumerated().map { number, url in
            var description = PersistentStoreDescription(url: url)
            description.isShared = isShared
            description.isReadOnly = isReadOnly
            description.busyTimeout = .seconds(60)
            description.clockOffset = .random(in: -clockOffsetMax...clockOffsetMax)
            description.clockJumps = .random()
            if urls.count > 1 { description.configurationName = ["Accounts", "Lines"][number] }
            return description
        }
        try container.loadPersistentStores()
        return container
    }

    /// Verifies the invariants in one state, and returns the tags of all entries.
    ///
    /// - Parameter isPinned: False for a store without query generations, which no other process changes meanwhile.
    static func verify(_ context: ManagedObjectContext, hasLines: Bool, isPinned: Bool = true) throws -> Set<String> {
        if isPinned { try context.setQueryGeneration(from: .current) }
        defer { if isPinned { try? context.setQueryGeneration(from: nil) } }
        let entries = try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry"))
        var sums: [ManagedObjectID: Int64] = [:]
        var members: [ManagedObjectID: Set<PropertyValue>] = [:]
        for entry in entries {
            guard case .objectID(let account) = entry["account"], case .int(let amount) = entry["amount"] else {
                throw Finding("the entry \(entry["tag"]) has no account")
            }
            sums[account, default: 0] += amount
            members[account, default: []].insert(.objectID(entry.objectID))
        }
        for account in try context.fetch(FetchRequest<ManagedObject>(entityName: "Account")) {
            let (sum, own) = (sums.removeValue(forKey: account.objectID) ?? 0, members[account.objectID] ?? [])
            guard account["balance"] == .int(sum), account["size"] == .int(Int64(own.count)), account["entries"] == .set(own) else {
                throw Finding("an account has the balance \(account["balance"]) and size \(account["size"]); its \(own.count) entries have the sum \(sum)")
            }
        }
        guard sums.isEmpty else { throw Finding("\(sums.count) accounts of entries do not exist") }
        let tags = Set(entries.map { $0["tag"].description })
        guard tags.count == entries.count else { throw Finding("two entries have the same tag") }
        guard hasLines else { return tags }
        let lines = Set(try context.fetch(FetchRequest<ManagedObject>(entityName: "Line")).map { $0["tag"].description })
        guard lines == tags else {
            throw Finding("half a save over two stores: \(lines.symmetricDifference(tags).sorted().prefix(5)) are in one of them")
        }
        return tags
    }

    /// The tag as `verify` returns it.
    static func name(of tag: String) -> String { PropertyValue.string(tag).description }
}
