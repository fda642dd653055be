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
    let members: EntrySorter
    let order: EntrySorter
    let owners: EntrySorter

    init(
        _ step: LinkStep, trees: (members: TreeID, order: TreeID?, owners: TreeID?), allowed: Set<UInt32>, writesOwnerNumbers: Bool,
        _ build: MigrationBuild
    ) {
        self.step = step
        self.trees = trees
        self.allowed = allowed
        self.writesOwnerNumbers = writesOwnerNumbers
        members = EntrySorter(build, threads: 1, share: 3)
        order = EntrySorter(build, threads: 1, share: 3)
        owners = EntrySorter(build, threads: 1, share: 3)
    }

    func append(_ pair: LinkPair, memberNumber: UInt32, ownerNumber: UInt32?) {
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

    func spillIfFull() throws {
        for sorter in [members, order, owners] { try sorter.spillIfFull() }
    }

    func finish() throws {
        try members.finish(into: trees.members)
        if let tree = trees.order { try order.finish(into: tree) }
        if let tree = trees.owners { try owners.finish(into: tree) }
    }
}

extension MigrationBuild {
    func build(_ step: LinkStep) throws {
        let link = schema.link(step.relationship)
        let destination = step.relationship.destinationEntity?.concreteDescendants ?? []
        let entries = LinkEntries(
            step, trees: (link.members, link.order, step.stored.kind == .oneWay ? link.reverse?.members : nil),
            allowed: Set(destination.map { draft.number(of: $0) }), writesOwnerNumbers: link.reverse?.isPolymorphic ?? false, self)
        let name = "\(step.relationship.entity.name).\(step.relationship.name)"
        for source in step.sources { try read(source, name, entries) }
        try entries.finish()
        try flush()
    }

    /// The number of pairs after which the memory of their entries is checked.
    private static var pairsTogether: Int { 1_024 }

    private func read(_ source: LinkSource, _ name: String, _ entries: LinkEntries) throws {
        var count = 0
        try translated { () throws(EngineError) in
            try forEachPair(of: source) { (pair) throws(EngineError) in
                try take(pair, source, entries)
                count += 1
                if count % Self.pairsTogether == 0 { try attempt { try entries.spillIfFull() } }
                if count % options.batchSize == 0 { try advance(name, by: options.batchSize) }
            }
        }
    }

    private func take(_ pair: LinkPair, _ source: LinkSource, _ entries: LinkEntries) throws(EngineError) {
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
