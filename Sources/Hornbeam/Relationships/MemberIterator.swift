internal import HornbeamModel
internal import HornbeamStore

/// Iterates over the members of a relationship.
///
/// The order is that at the start of the iteration. Members are created as faults, 64 at a time, and their rows are located
/// together, so that reading a member's properties needs no separate lookup.
public struct MemberIterator<Element: ManagedObject>: IteratorProtocol {
    private let members: MemberCursor

    init(owner: ManagedObject, property: PropertyDescription) { members = MemberCursor(owner, property) }

    init(_ objects: [Element]) { members = MemberCursor(objects) }

    public mutating func next() -> Element? {
        guard let object = members.next() else { return nil }
        if type(of: object) == members.known { return unsafe unsafeDowncast(object, to: Element.self) }
        guard let relationship = members.relationship else { return object as? Element }
        let typed: Element = relationship.owner.typed(object, relationship.property)
        members.known = type(of: object)
        return typed
    }
}

/// The members of an iteration. It is a class, because a loop copies its iterator, and a copy of these fields would count a reference for each.
private final class MemberCursor {
    private static let width = 64

    /// Nil for given objects.
    let relationship: ToManyBase?
    /// The class of the last member. Other members of the class need no check of their type.
    var known: ManagedObject.Type?
    // Unchecked, because one thread iterates and accesses never overlap.
    /// Members without unsaved changes, as stored.
    @safe @exclusivity(unchecked) private var stored: StoredMembers?
    /// Members with unsaved changes, for which no objects were created yet.
    private var ids: ArraySlice<ManagedObjectID> = []
    /// The objects of a batch, in reverse order. Each is moved out of it, which counts no reference.
    @safe @exclusivity(unchecked) private var batch: [ManagedObject] = []

    init(_ owner: ManagedObject, _ property: PropertyDescription) {
        relationship = ToManyBase(owner: owner, property: property)
        if owner.readingContext == nil { return }
        stored = owner.unchangedMembers(of: property)
        if stored == nil { ids = owner.members(of: property)[...] }
    }

    init(_ objects: [ManagedObject]) {
        relationship = nil
        batch = objects.reversed()
    }

    func next() -> ManagedObject? {
        if batch.isEmpty { loadBatch() }
        return batch.popLast()
    }

    private func loadBatch() {
        guard let context = relationship?.owner.readingContext else { return }
        if stored != nil {
            // Changed in place, so that its lists are not copied.
            batch = stored?.next(Self.width, in: context) ?? []
        } else if !ids.isEmpty {
            context.sweepIfDue()
            batch = context.objects(with: ids.prefix(Self.width))
            ids = ids.dropFirst(Self.width)
        }
        batch.reverse()
    }
}

/// The stored members of a relationship in one snapshot.
struct StoredMembers {
    let owner: ManagedObject
    /// Reads the snapshot in which the iteration began, even if the context switches to another one; nil if it cannot be read.
    let reader: MemberReader?
    /// The keys of members of one entity.
    private var keys = MemberList<UInt64>()
    /// Members that may have several entities.
    private var references = MemberList<ObjectReference>()

    init(of owner: ManagedObject, _ reader: MemberReader?) {
        self.owner = owner
        self.reader = reader
    }

    /// The next members; fewer than `width` only at the end.
    mutating func next(_ width: Int, in context: ManagedObjectContext) -> [ManagedObject] {
        guard let reader else { return [] }
        let owner = owner
        guard let entity = reader.onlyEntity else {
            let found = references.next(width) { owner.references(at: $0, in: reader) }
            if found.isEmpty { return [] }
            context.sweepIfDue()
            return context.objects(for: found)
        }
        let found = keys.next(width) { owner.memberKeys(at: $0, in: reader) }
        if found.isEmpty { return [] }
        context.sweepIfDue()
        return context.objects(for: found, context.scope(at: Int(entity), in: owner.scope.slot))
    }
}

/// Members in stored order. Only the first batch is read at first, because a search may end in it; a second batch is read with all others.
private struct MemberList<Member> {
    private var members: [Member] = []
    private var place = 0
    private var isComplete = false

    /// The next members; fewer than `width` only at the end.
    mutating func next(_ width: Int, _ read: (Range<Int>) -> [Member]) -> ArraySlice<Member> {
        if place == members.count, !isComplete {
            let end = place == 0 ? width : Int.max
            if place == 0 { members = read(place..<end) } else { members += read(place..<end) }
            isComplete = members.count < end
        }
        let end = min(place + width, members.count)
        defer { place = end }
        return members[place..<end]
    }
}
