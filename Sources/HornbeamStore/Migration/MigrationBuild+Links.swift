internal import HornbeamEngine
internal import HornbeamModel

/// An owner and a member of the old version.
private struct LinkPair {
    var owner: UInt64
    var member: UInt64
    /// The numbers of their entities; nil when they must be looked up.
    var ownerNumber: UInt32?
    var memberNumber: UInt32?
    /// The member's position in an ordered relationship.
    var position: UInt64?
}

/// Writes the entries of one relationship.
private struct LinkEntries {
    let step: LinkStep
    let trees: (members: TreeID, order: TreeID?, owners: TreeID?)
    let allowed: Set<UInt32>
    let writesOwnerNumbers: Bool
    var members = SortedEntries()
    var order = SortedEntries()
    var owners = SortedEntries()

    mutating func append(_ pair: LinkPair, memberNumber: UInt32, ownerNumber: UInt32?) {
        let entity = step.stored.isPolymorphic ? EntityNumber.bytes(memberNumber) : []
        var value = entity
        if trees.order != nil {
            // Members without a position are ordered by key, with gaps between them.
            let position = pair.position ?? MemberWriter.firstPosition + min(pair.member, 1 << 50) << 10
            KeyBytes.append(position, to: &value)
            order.append(MemberTrees.orderKey(owner: pair.owner, position: position, member: pair.member), entity)
        }
        members.append(MemberTrees.memberKey(owner: pair.owner, member: pair.member), value)
        if trees.owners != nil {
            let number = writesOwnerNumbers ? ownerNumber.map(EntityNumber.bytes) ?? [] : []
            owners.append(MemberTrees.memberKey(owner: pair.member, member: pair.owner), number)
        }
    }

    mutating func write(in transaction: WriteTransaction) throws(EngineError) {
        try members.write(to: trees.members, in: transaction)
        if let tree = trees.order { try order.write(to: tree, in: transaction) }
        if let tree = trees.owners { try owners.write(to: tree, in: transaction) }
    }
}

extension MigrationBuild {
    func build(_ step: LinkStep) throws {
        let link = schema.link(step.relationship)
        let destination = step.relationship.destinationEntity?.concreteDescendants ?? []
        var entries = LinkEntries(
            step: step, trees: (link.members, link.order, step.stored.kind == .oneWay ? link.reverse?.members : nil),
            allowed: Set(destination.map { draft.number(of: $0) }),
            writesOwnerNumbers: link.reverse?.isPolymorphic ?? false)
        let name = "\(step.relationship.entity.name).\(step.relationship.name)"
        for source in step.sources { try read(source, name, &entries) }
        try translated { () throws(EngineError) in try entries.write(in: transaction) }
        try flush()
    }

    private func read(_ source: LinkSource, _ name: String, _ entries: inout LinkEntries) throws {
        var copy = entries
        try translated { () throws(EngineError) in
            try forEachPair(of: source) { (pair) throws(EngineError) in
                try take(pair, source, &copy)
                guard copy.members.count >= options.batchSize else { return }
                try copy.write(in: transaction)
                try flush()
                try advance(name, by: options.batchSize)
            }
        }
        entries = copy
    }

    private func take(_ pair: LinkPair, _ source: LinkSource, _ entries: inout LinkEntries) throws(EngineError) {
        var number = pair.memberNumber
        if number == nil, case .reversed(let relationship) = source {
            number = try oldNumber(ofKey: pair.member, below: relationship.entity)
        }
        guard let number, entries.allowed.contains(number) else { return }
        if case .toOne(let property, _) = source, let destination = property.destinationEntity {
            // A to-one may name a deleted object, which is no member.
            guard try oldNumber(ofKey: pair.member, below: destination) != nil else { return }
        }
        var ownerNumber: UInt32?
        if entries.trees.owners != nil || source.mayLoseOwners {
            ownerNumber = try self.ownerNumber(of: pair, source)
            if case .namedOwner(let property, _) = source, entries.step.stored.kind != .mirror, let destination = property.destinationEntity {
                ownerNumber = try oldNumber(ofKey: pair.owner, below: destination)
            }
            guard let ownerNumber, source.mayOwn(ownerNumber, draft, entries.step.relationship) else { return }
        }
        var pair = pair
        if let places = entries.step.places { pair.position = try position(of: pair, in: places) }
        entries.append(pair, memberNumber: number, ownerNumber: ownerNumber)
    }

    /// The former position of a member in an ordered relationship.
    private func position(of pair: LinkPair, in relationship: PropertyDescription) throws(EngineError) -> UInt64? {
        let key = MemberTrees.memberKey(owner: pair.owner, member: pair.member)
        return try draft.snapshot.index(oldReader.schema.link(relationship).members).get(key).flatMap(MemberTrees.position)
    }

    private func ownerNumber(of pair: LinkPair, _ source: LinkSource) throws(EngineError) -> UInt32? {
        if let number = pair.ownerNumber { return number }
        switch source {
        case .members(let relationship, _): return try oldNumber(ofKey: pair.owner, below: relationship.entity)
        case .reversed(let relationship):
            guard let destination = relationship.destinationEntity else { return nil }
            return try oldNumber(ofKey: pair.owner, below: destination)
        case .toOne, .namedOwner: return nil
        }
    }

    private func forEachPair(of source: LinkSource, _ body: (LinkPair) throws(EngineError) -> Void) throws(EngineError) {
        switch source {
        case .members(let relationship, _): try forEachMember(of: relationship, body)
        case .reversed(let relationship):
            try forEachMember(of: relationship) { (pair) throws(EngineError) in
                try body(LinkPair(owner: pair.member, member: pair.owner))
            }
        case .toOne(let property, let entity):
            let ownerNumber = draft.oldNumber(of: entity)
            try forEachReference(property, entity) { (row, target, number) throws(EngineError) in
                try body(LinkPair(owner: row, member: target, ownerNumber: ownerNumber, memberNumber: number))
            }
        case .namedOwner(let property, let entity):
            let number = draft.oldNumber(of: entity)
            try forEachReference(property, entity) { (row, target, ownerNumber) throws(EngineError) in
                try body(LinkPair(owner: target, member: row, ownerNumber: ownerNumber, memberNumber: number))
            }
        }
    }

    private func forEachMember(
        of relationship: PropertyDescription, _ body: (LinkPair) throws(EngineError) -> Void
    ) throws(EngineError) {
        let link = oldReader.schema.link(relationship)
        let only = relationship.destinationEntity?.concreteDescendants.first.map { draft.oldNumber(of: $0) }
        unsafe try draft.snapshot.index(link.members).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
            guard key.count >= 16 else { return true }
            var pair = unsafe LinkPair(owner: KeyBytes.number(key, at: 0), member: KeyBytes.suffix(key))
            pair.memberNumber = unsafe link.isPolymorphic ? (value.count >= 4 ? EntityNumber.read(value, at: 0) : nil) : only
            // The value may contain a position of a former order, which is ignored.
            if link.order != nil, value.count >= 8 { pair.position = unsafe KeyBytes.number(value, at: value.count - 8) }
            try body(pair)
            return true
        }
    }

    private func forEachReference(
        _ property: PropertyDescription, _ entity: EntityDescription,
        _ body: (UInt64, UInt64, UInt32) throws(EngineError) -> Void
    ) throws(EngineError) {
        guard let rows = try draft.oldRows(entity) else { return }
        let column = oldReader.schema.table(entity).column(property)
        try rows.forEachLeaf { (leaf) throws(EngineError) -> Bool in
            for slot in 0 ..< leaf.count {
                let row = leaf.row(slot)
                guard !row.isNull(column.column) else { continue }
                try body(leaf.key(slot), row.load(column.column, as: UInt64.self), number(ofReference: column, in: row))
            }
            return true
        }
    }
}

extension LinkSource {
    /// True when the pairs may contain owners that no longer have the relationship.
    fileprivate var mayLoseOwners: Bool {
        if case .toOne = self { false } else { true }
    }

    fileprivate func mayOwn(_ number: UInt32, _ draft: MigrationDraft, _ relationship: PropertyDescription) -> Bool {
        if case .members(_, let owners) = self { return owners.contains(number) }
        return relationship.entity.concreteDescendants.contains { draft.number(of: $0) == number }
    }
}
