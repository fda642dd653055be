/// The differences between two models, as text.
public struct ModelDifference: Sendable {
    /// One difference: something was added, removed or changed.
    public struct Change: Hashable, Sendable, CustomStringConvertible {
        /// The kinds of change.
        public enum Kind: String, Hashable, Sendable {
            /// The part is in the new model only.
            case added = "+"
            /// The part is in the old model only.
            case removed = "-"
            /// The part is in both models, with differences.
            case changed = "~"
        }

        /// Added, removed or changed.
        public var kind: Kind
        /// The changed part: `Book`, `Book.title`, `fetchRequests.recent`.
        public var subject: String
        /// The changed settings with their old and new values; empty for an added or removed part.
        public var details: [String]

        public var description: String {
            "\(kind.rawValue) \(subject)" + (details.isEmpty ? "" : ": " + details.joined(separator: ", "))
        }
    }

    /// The changes, in the order of the new model, removed parts last.
    public let changes: [Change]
    /// The entities whose stored objects must be migrated: their version hash differs, or their parts exchange names. Sorted.
    public let migratedEntities: [String]

    /// Compares two models. Parts are matched by name, or by their renaming identifier.
    public init(from old: ManagedObjectModel, to new: ManagedObjectModel) throws {
        var found = try Comparison(old.definition, new.definition)
        try found.compare()
        changes = found.changes
        let before = old.entityVersionHashesByName
        let after = new.entityVersionHashesByName
        let rehashed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        let renamed = RenamedParts(from: old, to: new).parts + RenamedParts(from: new, to: old).parts
        migratedEntities = rehashed.union(renamed.map(\.entity).filter { before[$0] != nil && after[$0] != nil }).sorted()
    }
}

extension ModelDifference: CustomStringConvertible {
    /// One line per change, then the entities that must be migrated.
    public var description: String {
        if changes.isEmpty { return "The models are the same." }
        let migration = migratedEntities.isEmpty
            ? "Stores need no migration."
            : "Stores must be migrated: \(migratedEntities.joined(separator: ", "))."
        return (changes.map(\.description) + [migration]).joined(separator: "\n")
    }
}

/// Compares definitions in their encoded form, so that every field is compared.
private struct Comparison {
    let old: ModelDefinition
    let new: ModelDefinition
    var changes: [ModelDifference.Change] = []

    init(_ old: ModelDefinition, _ new: ModelDefinition) throws { (self.old, self.new) = (old, new) }

    mutating func compare() throws {
        try compare(old.entities, new.entities, prefix: "", name: \.name, former: \.renamingIdentifier) { comparison, a, b in
            let subject = b.name
            try comparison.members(
                of: a, b, subject: subject, except: ["attributes", "relationships", "fetchedProperties", "indexes"])
            try comparison.compare(
                a.attributes, b.attributes, prefix: "\(subject).", name: \.name, former: \.renamingIdentifier)
            try comparison.compare(
                a.relationships, b.relationships, prefix: "\(subject).", name: \.name, former: \.renamingIdentifier)
            try comparison.compare(
                a.fetchedProperties, b.fetchedProperties, prefix: "\(subject).", name: \.name, former: \.renamingIdentifier)
            try comparison.compare(
                a.fetchIndexes, b.fetchIndexes, prefix: "\(subject).indexes.", name: \.name, former: { _ in nil })
        }
        try compare(old.composites, new.composites, prefix: "composites.", name: \.name, former: { _ in nil })
        try compare(
            old.fetchRequestTemplates, new.fetchRequestTemplates, prefix: "fetchRequests.", name: \.name, former: { _ in nil })
        try members(of: old, new, subject: "model", except: ["entities", "composites", "fetchRequests"])
    }

    private mutating func compare<Part: Encodable>(
        _ old: [Part], _ new: [Part], prefix: String, name: (Part) -> String, former: (Part) -> String?
    ) throws {
        try compare(old, new, prefix: prefix, name: name, former: former) { comparison, a, b in
            try comparison.members(of: a, b, subject: prefix + name(b), except: [])
        }
    }

    private mutating func compare<Part>(
        _ old: [Part], _ new: [Part], prefix: String, name: (Part) -> String, former: (Part) -> String?,
        _ body: (inout Comparison, Part, Part) throws -> Void
    ) throws {
        var left = old
        for part in new {
            let match = left.firstIndex { name($0) == name(part) }
                ?? left.firstIndex { (former($0) ?? name($0)) == (former(part) ?? name(part)) }
            if let match {
                try body(&self, left.remove(at: match), part)
            } else {
                changes.append(.init(kind: .added, subject: prefix + name(part), details: []))
            }
        }
        for part in left { changes.append(.init(kind: .removed, subject: prefix + name(part), details: [])) }
    }

    private mutating func members(of a: some Encodable, _ b: some Encodable, subject: String, except: Set<String>) throws {
        let before = try OrderedJSON(encoding: a).members
        let after = try OrderedJSON(encoding: b).members
        var keys = before.map(\.key)
        keys += after.map(\.key).filter { !keys.contains($0) }
        let details = keys.filter { !except.contains($0) }.compactMap { key -> String? in
            let old = before.first { $0.key == key }?.value.compact(spaced: true)
            let new = after.first { $0.key == key }?.value.compact(spaced: true)
            return old == new ? nil : "\(key) \(old ?? "unset") → \(new ?? "unset")"
        }
        if !details.isEmpty { changes.append(.init(kind: .changed, subject: subject, details: details)) }
    }
}

extension OrderedJSON {
    /// The members of an object; empty for other values.
    var members: [(key: String, value: OrderedJSON)] {
        if case .object(let members) = self { members } else { [] }
    }
}
