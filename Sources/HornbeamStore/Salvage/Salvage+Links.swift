internal import HornbeamEngine
internal import HornbeamModel

/// Copies the members of to-many relationships. Each link is stored twice: in the entries of the relationship, and either in a
/// column of the member's row or in the entries of the inverse relationship. A link that is readable in one place is saved if both objects are saved.
extension Salvage {
    private struct Link {
        var owner: UInt64
        var position: UInt64
        var member: UInt64
    }

    private struct Pair: Hashable {
        var owner: UInt64
        var member: UInt64
    }

    func copyLinks(_ old: LinkIndex, _ new: LinkIndex) throws {
        try progress.report(new.relationship.description, 0, 1)
        var positions = try ownEntries(of: old)
        if new.kind == .mirror {
            try replaceByRowLinks(of: new, into: &positions)
        } else if let reverse = old.reverse {
            unsafe try readable(reverse.members).forEachEntry { (key, _) throws(EngineError) in
                guard key.count >= 16 else { return }
                let pair = unsafe Pair(owner: KeyBytes.suffix(key), member: KeyBytes.number(key, at: 0))
                if positions[pair] == nil { positions[pair] = .max }
            }
        }
        if new.kind != .mirror { report.lostLinks += max(try source.index(old.members).count - positions.count, 0) }
        let links = positions.map { Link(owner: $0.key.owner, position: $0.value, member: $0.key.member) }
            .sorted { ($0.owner, $0.position, $0.member) < ($1.owner, $1.position, $1.member) }
        try write(links, of: new)
    }

    /// The links in the relationship's own trees, with the position of each member; `.max` for members without a readable position.
    private func ownEntries(of link: LinkIndex) throws -> [Pair: UInt64] {
        var positions: [Pair: UInt64] = [:]
        unsafe try readable(link.members).forEachEntry { (key, value) throws(EngineError) in
            guard key.count >= 16 else { return }
            let place = unsafe link.order == nil ? 0 : value.flatMap { unsafe MemberTrees.position([UInt8]($0)) }
            unsafe positions[Pair(owner: KeyBytes.number(key, at: 0), member: KeyBytes.suffix(key))] = place ?? .max
        }
        guard let order = link.order else { return positions }
        unsafe try readable(order).forEachEntry { (key, _) throws(EngineError) in
            guard key.count >= 24 else { return }
            unsafe positions[Pair(owner: KeyBytes.number(key, at: 0), member: KeyBytes.suffix(key))] = unsafe KeyBytes.number(key, at: 8)
        }
        return positions
    }

    /// Replaces `positions` by the links that the rows contain: they determine the members of a to-many with a to-one inverse.
    private func replaceByRowLinks(of link: LinkIndex, into positions: inout [Pair: UInt64]) throws {
        let snapshot = try target.snapshot()
        var rowLinks: [Pair: UInt64] = [:]
        for case let table? in schema.tables {
            for mirror in table.mirrors where mirror.link === link {
                try snapshot.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                    for slot in 0 ..< leaf.count {
                        guard let owner = mirror.column.reference(in: leaf.row(slot), schema: schema) else { continue }
                        let pair = Pair(owner: owner.key, member: leaf.key(slot))
                        rowLinks[pair] = positions[pair] ?? .max
                    }
                    return true
                }
            }
        }
        positions = rowLinks
    }

    private func write(_ links: [Link], of link: LinkIndex) throws {
        let snapshot = try target.snapshot()
        let owners = try Finder(link.relationship.entity, snapshot, schema)
        let members = try Finder(link.relationship.destinationEntity, snapshot, schema)
        try write { transaction in
            let writer = MemberWriter(transaction: transaction, schema: schema)
            for entry in links {
                guard let owner = try owners.object(entry.owner), let member = try members.object(entry.member) else {
                    continue
                }
                try writer.add(member, to: owner.key, link.forward)
                // The reverse entries of a one-way relationship belong to no other relationship, so they are written here.
                if link.kind == .oneWay, let backward = link.backward { try writer.add(owner, to: member.key, backward) }
                report.links += 1
            }
        }
    }

    /// Finds the saved object of a key among the possible entities.
    private struct Finder {
        private let tables: [(index: Int32, view: TableView)]

        init(_ entity: EntityDescription?, _ snapshot: Snapshot, _ schema: Schema) throws(EngineError) {
            var tables: [(index: Int32, view: TableView)] = []
            for entity in entity?.concreteDescendants ?? [] {
                let table = schema.table(entity)
                tables.append((table.index, try snapshot.table(table.tree)))
            }
            self.tables = tables
        }

        func object(_ key: UInt64) throws(EngineError) -> ObjectReference? {
            for table in tables where try table.view.contains(key) {
                return ObjectReference(entityIndex: table.index, key: key)
            }
            return nil
        }
    }
}
