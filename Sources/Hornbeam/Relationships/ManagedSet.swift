public import HornbeamModel

/// The objects of an unordered to-many relationship.
///
/// A view of the owner, not a copy: `count` and `contains` load nothing, iterating makes objects one by
/// one, and inserting or removing changes the owner and the inverse at once. A set made from a literal
/// stands alone until it is assigned.
///
/// ```swift
/// department.employees.insert(ada)
/// department.employees = [ada, grace]
/// ```
public struct ManagedSet<Element: ManagedObject> {
    private enum Content {
        case view(owner: ManagedObject, property: PropertyDescription)
        case list([Element])
    }
    private var content: Content

    init(owner: ManagedObject, property: PropertyDescription) {
        content = .view(owner: owner, property: property)
    }

    /// A set that stands alone; equal objects count once.
    public init(_ elements: some Sequence<Element>) {
        var seen: Set<ManagedObject> = []
        content = .list(elements.filter { seen.insert($0).inserted })
    }

    /// The IDs of the members, in the order of iteration; makes no object.
    public var objectIDs: [ManagedObjectID] {
        switch content {
        case .view(let owner, let property): owner.members(of: property)
        case .list(let list): list.map(\.objectID)
        }
    }

    /// The members as a standard set.
    public var objects: Set<Element> { Set(self) }

    public func contains(_ member: Element) -> Bool {
        switch content {
        case .view(let owner, let property): owner.hasMember(member.objectID, in: property)
        case .list(let list): list.contains(member)
        }
    }

    /// Adds an object; does nothing when it is a member.
    public func insert(_ member: Element) {
        attached { owner, property in owner.add(member, to: property) }
    }

    /// Adds several objects.
    public func formUnion(_ members: some Sequence<Element>) {
        for member in members { insert(member) }
    }

    /// Removes an object; does nothing when it is not a member.
    public func remove(_ member: Element) {
        attached { owner, property in owner.remove(member, from: property) }
    }

    /// Removes several objects, those that are members.
    public func subtract(_ members: some Sequence<Element>) {
        for member in members { remove(member) }
    }

    /// Removes all members.
    public func removeAll() {
        attached { owner, property in owner.replaceMembers([], of: property) }
    }

    private func attached(_ body: (ManagedObject, PropertyDescription) -> Void) {
        guard case .view(let owner, let property) = content else {
            misuse(
                "This ManagedSet belongs to no object. Assign it to a relationship, then change that.")
        }
        body(owner, property)
    }
}

extension ManagedSet: Collection {
    public struct Index: Comparable {
        let position: Int
        let members: Members
        public static func < (a: Self, b: Self) -> Bool { a.position < b.position }
        public static func == (a: Self, b: Self) -> Bool { a.position == b.position }
    }

    /// The IDs as they were when an iteration began.
    final class Members {
        let ids: [ManagedObjectID]
        init(_ ids: [ManagedObjectID]) { self.ids = ids }
    }

    public var startIndex: Index { Index(position: 0, members: Members(objectIDs)) }
    public var endIndex: Index { Index(position: count, members: Members([])) }
    public func index(after i: Index) -> Index { Index(position: i.position + 1, members: i.members) }

    public subscript(position: Index) -> Element {
        switch content {
        case .view(let owner, let property):
            owner.typed(owner.scope.context.object(with: position.members.ids[position.position]), property)
        case .list(let list): list[position.position]
        }
    }

    /// The number of members, from the index in the store: O(log n).
    public var count: Int {
        switch content {
        case .view(let owner, let property): owner.memberCount(of: property)
        case .list(let list): list.count
        }
    }

    public var isEmpty: Bool { count == 0 }

    public func makeIterator() -> MemberIterator<Element> {
        switch content {
        case .view(let owner, let property): MemberIterator(owner: owner, property: property)
        case .list(let list): MemberIterator(list)
        }
    }
}

extension ManagedSet: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension ManagedSet: CustomStringConvertible {
    public var description: String { "ManagedSet<\(Element.self)>(\(count))" }
}
