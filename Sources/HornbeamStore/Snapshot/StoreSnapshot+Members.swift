internal import HornbeamEngine
package import HornbeamModel

/// Reading to-many relationships. `relationship` is a stored to-many of the owner's entity.
extension StoreSnapshot {
    /// All members, in stored order: ordered ones by position, others by key.
    package func members(of relationship: PropertyDescription, owner: UInt64) throws -> [ObjectReference] {
        try EngineError.translated { () throws(EngineError) in try members(relationship).references(owner: owner) }
    }

    /// A reader for the members of a relationship, for callers that read many owners.
    package func memberReader(of relationship: PropertyDescription) throws -> MemberReader {
        try EngineError.translated { () throws(EngineError) in try members(relationship) }
    }

    /// The members at a range of the stored order, in O(log n + count).
    package func members(
        of relationship: PropertyDescription, owner: UInt64, range: Range<Int>
    ) throws -> [ObjectReference] {
        try EngineError.translated { () throws(EngineError) in
            try members(relationship).references(owner: owner, skipping: range.lowerBound, limit: range.count)
        }
    }

    /// The number of members, in O(log n), without reading a member.
    package func memberCount(of relationship: PropertyDescription, owner: UInt64) throws -> Int {
        try EngineError.translated { () throws(EngineError) in try members(relationship).count(owner: owner) }
    }

    /// True when an object is a member.
    package func contains(
        _ member: ObjectReference, in relationship: PropertyDescription, owner: UInt64
    ) throws -> Bool {
        try EngineError.translated { () throws(EngineError) in
            try members(relationship).contains(member.key, owner: owner)
        }
    }

    func members(_ relationship: PropertyDescription) throws(EngineError) -> MemberReader {
        try MemberReader(schema.link(relationship).forward, schema: schema) { (id) throws(EngineError) in
            try engineSnapshot.index(id)
        }
    }
}

extension MemberReader {
    /// All members of one owner, in stored order.
    package func members(owner: UInt64) throws -> [ObjectReference] {
        try EngineError.translated { () throws(EngineError) in try references(owner: owner) }
    }

    /// The keys of the members of one owner, which have one entity, at a range of the stored order.
    package func memberKeys(owner: UInt64, range: Range<Int>) throws -> [UInt64] {
        try EngineError.translated { () throws(EngineError) in try keys(owner: owner, skipping: range.lowerBound, limit: range.count) }
    }

    /// The members of one owner at a range of the stored order, in O(log n + count).
    package func members(owner: UInt64, range: Range<Int>) throws -> [ObjectReference] {
        try EngineError.translated { () throws(EngineError) in
            try references(owner: owner, skipping: range.lowerBound, limit: range.count)
        }
    }
}
