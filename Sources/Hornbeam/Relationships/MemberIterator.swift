internal import HornbeamModel
internal import HornbeamStore

/// Iterates over the members of a relationship.
///
/// The order is that at the start of the iteration. Members are created as faults, 64 at a time, and their rows are located
/// together, so that reading a member's properties needs no separate lookup.
public struct MemberIterator<Element: ManagedObject>: IteratorProtocol {
    /// The members for which no objects were created yet.
    private enum Source {
        case nothing
        /// Members without unsaved changes, as stored.
        case stored(StoredMembers)
        /// Members with unsaved changes.
        case ids([ManagedObjectID])
    }

    private static var width: Int { 64 }

    private let owner: ManagedObject?
    private let property: PropertyDescription?
    private var source: Source
    private var batch: [ManagedObject]
    private var place = 0
    private var nextMember = 0
    /// The class of the last member. Other members of the class need no check of their type.
    private var known: ManagedObject.Type?

    init(owner: ManagedObject, property: PropertyDescription) {
        self.owner = owner
        self.property = property
        if owner.readingContext == nil {
            source = .nothing
        } else if let members = owner.unchangedMembers(of: property) {
            source = .stored(members)
        } else {
            source = .ids(owner.members(of: property))
        }
        batch = []
    }

    init(_ objects: [Element]) {
        owner = nil
        property = nil
        source = .nothing
        batch = objects
    }

    public mutating func next() -> Element? {
        if place == batch.count { loadBatch() }
        guard place < batch.count else { return nil }
        let object = batch[place]
        place += 1
        if type(of: object) == known { return unsafe unsafeDowncast(object, to: Element.self) }
        guard let owner, let property else { return object as? Element }
        let typed: Element = owner.typed(object, property)
        known = type(of: object)
        return typed
    }

    private mutating func loadBatch() {
        guard let context = owner?.readingContext else { return }
        place = 0
        batch = []
        switch source {
        case .nothing: return
        case .stored(var members):
            // `members` is then the only reference to its lists, so that they are not copied.
            source = .nothing
            batch = members.next(Self.width, in: context)
            source = .stored(members)
        case .ids(let ids):
            guard nextMember < ids.count else { return }
            let end = min(nextMember + Self.width, ids.count)
            context.sweepIfDue()
            batch = context.objects(with: ids[nextMember..<end])
            nextMember = end
        }
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
