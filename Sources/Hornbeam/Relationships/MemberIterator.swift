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
            // Only the first batch is read at first, because a search may end in it.
            let references = members.next(Self.width, of: owner)
            source = .stored(members)
            guard !references.isEmpty else { return }
            context.sweepIfDue()
            batch = context.objects(for: references)
        case .ids(let ids):
            guard nextMember < ids.count else { return }
            let end = min(nextMember + Self.width, ids.count)
            context.sweepIfDue()
            batch = context.objects(with: ids[nextMember..<end])
            nextMember = end
        }
    }
}

/// The stored members of a relationship in one snapshot. The first batch is read alone, and all other members together, if a second batch is needed.
struct StoredMembers {
    /// Reads the snapshot in which the iteration began, even if the context switches to another one; nil if it cannot be read.
    let reader: MemberReader?
    private var references: [ObjectReference] = []
    private var place = 0
    private var isComplete = false

    init(reader: MemberReader?) { self.reader = reader }

    /// The next members; fewer than `width` only at the end.
    mutating func next(_ width: Int, of owner: ManagedObject?) -> ArraySlice<ObjectReference> {
        if place == references.count, !isComplete, let owner, let reader {
            let end = place == 0 ? width : Int.max
            references += owner.references(at: place..<end, in: reader)
            isComplete = references.count < end
        }
        let end = min(place + width, references.count)
        defer { place = end }
        return references[place..<end]
    }
}
