public import HornbeamModel

/// The objects of an ordered to-many relationship, each once, in their order (REL-5).
///
/// A view of the owner, not a copy: changing it changes the owner and the inverse at once. Walking it
/// with `for` reads the order once; each use of an index reads it again, so that the view is always current.
public struct ManagedArray<Element: ManagedObject> {
    private enum Content {
        case view(owner: ManagedObject, property: PropertyDescription)
        case list([Element])
    }
    private var content: Content

    init(owner: ManagedObject, property: PropertyDescription) {
        content = .view(owner: owner, property: property)
    }

    /// A list that stands alone until it is assigned to a relationship.
    public init(_ elements: some Sequence<Element>) { content = .list(Array(elements)) }

    /// The IDs of the members in order; makes no object.
    public var objectIDs: [ManagedObjectID] {
        switch content {
        case .view(let owner, let property): owner.members(of: property)
        case .list(let list): list.map(\.objectID)
        }
    }

    /// Adds an object at the end; does nothing when it is a member.
    public func append(_ member: Element) {
        attached { owner, property in owner.add(member, to: property) }
    }

    /// Adds several objects at the end, those that are no members yet.
    public func append(contentsOf members: some Sequence<Element>) {
        for member in members { append(member) }
    }

    /// Puts an object at a place; moves it there when it is a member.
    public func insert(_ member: Element, at place: Int) {
        attached { owner, property in
            require(
                (0...owner.memberCount(of: property)).contains(place),
                "Place \(place) is outside \(owner.scope.entity.name).\(property.name).")
            owner.add(member, to: property, at: place)
        }
    }

    /// Removes an object; does nothing when it is not a member.
    public func remove(_ member: Element) {
        attached { owner, property in owner.remove(member, from: property) }
    }

    /// Removes the object at a place.
    public func remove(at place: Int) { remove(self[place]) }

    /// Puts an object in the place of the one that is there, which is no member any more.
    public func replace(at place: Int, with member: Element) {
        let old = self[place]
        guard old != member else { return }
        insert(member, at: place)
        remove(old)
    }

    /// Removes all members.
    public func removeAll() {
        attached { owner, property in owner.replaceMembers([], of: property) }
    }

    private func attached(_ body: (ManagedObject, PropertyDescription) -> Void) {
        guard case .view(let owner, let property) = content else {
            misuse(
                "This ManagedArray belongs to no object. Assign it to a relationship, then change that.")
        }
        body(owner, property)
    }
}

extension ManagedArray: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int {
        switch content {
        case .view(let owner, let property): owner.memberCount(of: property)
        case .list(let list): list.count
        }
    }

    public subscript(position: Int) -> Element {
        switch content {
        case .view(let owner, let property):
            owner.typed(owner.scope.context.object(with: owner.members(of: property)[position]), property)
        case .list(let list): list[position]
        }
    }

    public func makeIterator() -> MemberIterator<Element> {
        switch content {
        case .view(let owner, let property): MemberIterator(owner: owner, property: property)
        case .list(let list): MemberIterator(list)
        }
    }
}

extension ManagedArray: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension ManagedArray: CustomStringConvertible {
    public var description: String { "ManagedArray<\(Element.self)>(\(count))" }
}
