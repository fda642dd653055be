internal import HornbeamEngine
internal import HornbeamModel

/// The trees of one direction of a to-many, and the bytes of their entries (described at `LinkIndex`).
struct MemberTrees: Sendable {
    let members: TreeID
    let order: TreeID?
    /// True when entries contain the entity of the member.
    let isPolymorphic: Bool
    /// The entity of all members if entries do not contain it; -1 when there is none.
    let onlyMember: Int32
    /// The index of the declared entity of the members; -1 when there is none.
    let declaredMember: Int32

    /// `owner, member`
    static func memberKey(owner: UInt64, member: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(16)
        KeyBytes.append(owner, to: &key)
        KeyBytes.append(member, to: &key)
        return key
    }

    /// `owner, position, member`
    static func orderKey(owner: UInt64, position: UInt64, member: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(24)
        KeyBytes.append(owner, to: &key)
        KeyBytes.append(position, to: &key)
        KeyBytes.append(member, to: &key)
        return key
    }

    static func range(ofOwner owner: UInt64) -> KeyRange {
        var key: [UInt8] = []
        KeyBytes.append(owner, to: &key)
        return KeyRange(prefix: key)
    }

    /// The entity number and the position, if this relationship stores them.
    func memberValue(_ member: ObjectReference, position: UInt64?, schema: Schema) -> [UInt8] {
        var value = entityValue(member, schema: schema)
        if let position { KeyBytes.append(position, to: &value) }
        return value
    }

    func entityValue(_ member: ObjectReference, schema: Schema) -> [UInt8] {
        guard isPolymorphic else { return [] }
        return EntityNumber.bytes(schema.table(at: member.entityIndex).number)
    }

    /// The member's entity, from the value of its entry; nil when the entry is damaged, or names an entity that cannot be a member.
    @inline(__always)
    func entityIndex(_ value: UnsafeRawBufferPointer, schema: Schema) -> Int32? {
        guard isPolymorphic else { return onlyMember }
        guard value.count >= 4 else { return nil }
        return unsafe schema.entityIndex(number: EntityNumber.read(value, at: 0), within: declaredMember)
    }

    static func position(_ value: [UInt8]) -> UInt64? {
        guard value.count >= 8 else { return nil }
        return unsafe value.withUnsafeBytes { unsafe KeyBytes.number($0, at: value.count - 8) }
    }
}

extension LinkIndex {
    /// From owner to members.
    var forward: MemberTrees {
        MemberTrees(members: members, order: order, isPolymorphic: isPolymorphic, onlyMember: onlyMember, declaredMember: declaredMember)
    }

    /// From member to owners; nil when the members' rows have a to-one column instead.
    var backward: MemberTrees? {
        guard let reverse else { return nil }
        let owner = relationship.entity.concreteDescendants.first.map { Int32($0.index) } ?? -1
        return MemberTrees(
            members: reverse.members, order: reverse.order, isPolymorphic: reverse.isPolymorphic, onlyMember: owner,
            declaredMember: Int32(relationship.entity.index))
    }
}
