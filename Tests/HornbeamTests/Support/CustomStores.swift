import Foundation
import Hornbeam
import Synchronization

/// The rows of a custom store, with changes applied.
struct CustomRows: Codable {
    var identifier = UUID()
    var lastKey: UInt64 = 0
    var rows: [UInt64: CustomStoreRow] = [:]
    var metadata: [String: PropertyValue] = [:]

    mutating func newKeys(_ count: Int) -> [UInt64] {
        defer { lastKey += UInt64(count) }
        return (0 ..< count).map { lastKey + 1 + UInt64($0) }
    }

    mutating func apply(_ changes: CustomStoreChanges, keepingMembers: Bool = true) {
        for row in changes.inserted { rows[row.object.key] = row }
        for update in changes.updated {
            rows[update.object.key]?.values.merge(update.values) { $1 }
            rows[update.object.key]?.destinations.merge(update.destinations) { $1 }
            for name in changes.cleared[update.object] ?? [] { rows[update.object.key]?.destinations[name] = nil }
        }
        for deleted in changes.deleted {
            rows[deleted.key] = nil
            for key in rows.keys {
                for name in rows[key]?.members.keys.sorted() ?? [] { rows[key]?.members[name]?.removeAll { $0 == deleted } }
            }
        }
        for change in changes.members where keepingMembers {
            var members = rows[change.owner.key]?.members[change.relationship] ?? []
            members.removeAll { change.removed.contains($0) }
            members += change.added
            rows[change.owner.key]?.members[change.relationship] = change.order ?? members
        }
    }
}

/// An atomic store in one JSON file.
final class FileStore: CustomStore {
    private let url: URL
    private let state: Mutex<CustomRows>

    init(at url: URL) {
        self.url = url
        let data = try? Data(contentsOf: url)
        state = Mutex(data.flatMap { try? JSONDecoder().decode(CustomRows.self, from: $0) } ?? CustomRows())
    }

    var identifier: UUID { state.withLock { $0.identifier } }
    var isAtomic: Bool { true }
    var metadata: [String: PropertyValue] { state.withLock { $0.metadata } }

    func open(_ model: ManagedObjectModel) throws {}

    func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] { state.withLock { Array($0.rows.values) } }

    func newKeys(for entityNames: [String]) throws -> [UInt64] { state.withLock { $0.newKeys(entityNames.count) } }

    func save(_ changes: CustomStoreChanges) throws { try write { $0.apply(changes) } }

    func setMetadata(_ metadata: [String: PropertyValue]) throws { try write { $0.metadata = metadata } }

    private func write(_ body: (inout CustomRows) -> Void) throws {
        try state.withLock { state in
            var next = state
            body(&next)
            try JSONEncoder().encode(next).write(to: url, options: .atomic)
            state = next
        }
    }
}

/// An incremental store: a server that returns rows on request.
final class ServerStore: CustomStore {
    enum Fault { case none, forgetsMembers }

    private struct State {
        var rows = CustomRows()
        var asked: [String] = []
        var failure: HornbeamError?
        var model: ManagedObjectModel?
    }
    private let state = Mutex(State())
    private let fault: Fault

    init(fault: Fault = .none) { self.fault = fault }

    /// A server with a copy of the rows of another one, for another process.
    init(copying other: ServerStore) {
        fault = other.fault
        let rows = other.state.withLock { $0.rows }
        state.withLock { $0.rows = rows }
    }

    var asked: [String] { state.withLock { $0.asked } }
    var rowCount: Int { state.withLock { $0.rows.rows.count } }
    var failure: HornbeamError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Changes rows like another user.
    func change(_ body: (inout [UInt64: CustomStoreRow]) -> Void) {
        state.withLock { state in
            body(&state.rows.rows)
            state.rows.lastKey = max(state.rows.lastKey, state.rows.rows.keys.max() ?? 0)
        }
    }

    var identifier: UUID { state.withLock { $0.rows.identifier } }
    var isAtomic: Bool { false }
    var metadata: [String: PropertyValue] { state.withLock { $0.rows.metadata } }

    func open(_ model: ManagedObjectModel) throws { state.withLock { $0.model = model } }

    func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            state.asked.append(need.words)
            let all = state.rows.rows
            switch need {
            case .everything, .fetch: return Array(all.values)
            case .objects(let keys): return keys.compactMap { all[$0.key] }
            case .members(let owner, let relationship):
                let inverse = state.model?.entitiesByName[owner.entityName]?.propertiesByName[relationship]?.inverse?.name ?? ""
                return all.values.filter { row in
                    row.object == owner || row.destinations[inverse] == owner || row.members[inverse]?.contains(owner) ?? false
                        || all[owner.key]?.members[relationship]?.contains(row.object) ?? false
                }
            }
        }
    }

    func newKeys(for entityNames: [String]) throws -> [UInt64] { state.withLock { $0.rows.newKeys(entityNames.count) } }

    func save(_ changes: CustomStoreChanges) throws {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            state.rows.apply(changes, keepingMembers: fault != .forgetsMembers)
        }
    }

    func setMetadata(_ metadata: [String: PropertyValue]) throws { state.withLock { $0.rows.metadata = metadata } }
}

extension CustomStoreNeed {
    /// The need in the form that tests compare.
    fileprivate var words: String {
        switch self {
        case .everything: "everything"
        case .fetch(let request): "fetch \(request.entityName)"
        case .objects(let keys): "objects " + keys.map { "\($0.entityName) \($0.key)" }.joined(separator: ", ")
        case .members(let owner, let relationship): "members \(relationship) of \(owner.entityName) \(owner.key)"
        }
    }
}
