internal import HornbeamModel

/// The objects of an unordered to-many relationship, loaded on access.
///
/// `count`, `contains` and `isEmpty` read the store's index and load no object; an iteration creates its objects in batches. The set is a value
/// that reads its relationship on demand. A mutation through an object's property changes the object and the inverse immediately, and costs
/// the same for any number of members. A mutation of a copy in a variable changes only the copy.
///
/// ```swift
/// department.employees.insert(ada)              // changes the department
/// var chosen = department.employees
/// chosen.remove(grace)                          // changes `chosen`
/// department.employees = chosen                 // removes grace
/// ```
public struct ManagedSet<Element: ManagedObject> {
    /// The relationship; nil for an independent set.
    private var base: ToManyBase?
    /// The changes since the relationship was read, by object. The objects are of the type `Element`; a dictionary of that type would be looked up at run
    /// time for each set.
    private var changes: [ManagedObject: MemberChange] = [:]
    private var steps = 0

    init(owner: ManagedObject, property: PropertyDescription) { base = ToManyBase(owner: owner, property: property) }

    /// A set that belongs to no relationship. Equal objects occur once in it.
    public init(_ elements: some Sequence<Element>) {
        for element in elements { insert(element) }
    }

    // MARK: Changing

    /// Adds an object. Does nothing if it is a member.
    public mutating func insert(_ member: Element) { change(member, isMember: true) }

    /// Removes an object. Does nothing if it is not a member.
    public mutating func remove(_ member: Element) { change(member, isMember: false) }

    /// Adds several objects.
    public mutating func formUnion(_ members: some Sequence<Element>) {
        for member in members { insert(member) }
    }

    /// Removes several objects. Ignores those that are not members.
    public mutating func subtract(_ members: some Sequence<Element>) {
        for member in members { remove(member) }
    }

    /// Removes all members.
    public mutating func removeAll() {
        base = nil
        changes = [:]
    }

    private mutating func change(_ member: Element, isMember: Bool) {
        if let last = changes[member], last.isMember == isMember { return }
        guard isMember || base != nil else {
            changes[member] = nil
            return
        }
        steps += 1
        changes[member] = MemberChange(isMember: isMember, step: steps)
    }

    /// Sets an object's relationship to these members. If the set was read from this relationship, only its changes are applied.
    func assign(to owner: ManagedObject, _ property: PropertyDescription) {
        guard let base, base.owner === owner, base.property === property else {
            return owner.replaceMembers(objectList.map { $0 as ManagedObject }, of: property)
        }
        for (member, change) in changesInOrder {
            if change.isMember {
                owner.add(member, to: property)
            } else {
                owner.remove(member, from: property)
            }
        }
    }

    private var changesInOrder: [(key: ManagedObject, value: MemberChange)] {
        changes.count < 2 ? Array(changes) : changes.sorted { $0.value.step < $1.value.step }
    }

    // MARK: Reading

    /// The relationship, if the set has no changes of its own.
    var unchangedRelationship: ToManyBase? { changes.isEmpty ? base : nil }

    /// The members as a `Set`. Takes O(n).
    public var objects: Set<Element> { Set(self) }

    /// The IDs of the members, in the order of iteration. Creates no object.
    public var objectIDs: [ManagedObjectID] {
        guard changes.isEmpty else { return objectList.map(\.objectID) }
        return base?.ids ?? []
    }

    /// True if the object is a member. Reads the store's index and loads no member: O(log n).
    public func contains(_ member: Element) -> Bool { changes[member]?.isMember ?? base?.contains(member) ?? false }

    /// The number of members, from the index in the store: O(log n).
    public var count: Int {
        guard let base else { return changes.count }
        return changes.reduce(base.count) { count, change in
            let wasMember = base.contains(change.key)
            return count + (change.value.isMember ? 1 : 0) - (wasMember ? 1 : 0)
        }
    }

    public var isEmpty: Bool { count == 0 }

    /// Any member; nil if there is none. Creates one object.
    public var first: Element? {
        guard changes.isEmpty else { return objectList.first }
        return base?.object(at: 0)
    }

    /// The members: those of the relationship without the removed ones, then the new ones.
    private var objectList: [Element] {
        var list: [Element] = []
        if let base {
            var members = MemberIterator<Element>(owner: base.owner, property: base.property)
            while let member = members.next() {
                if changes[member]?.isMember ?? true { list.append(member) }
            }
        }
        return list + changesInOrder.filter { $0.value.isMember && base?.contains($0.key) != true }.compactMap { $0.key as? Element }
    }
}

extension ManagedSet: Collection {
    public struct Index: Comparable {
        let position: Int
        let members: Members
        public static func < (a: Self, b: Self) -> Bool { a.position < b.position }
        public static func == (a: Self, b: Self) -> Bool { a.position == b.position }
    }

    /// The members at the start of an iteration.
    final class Members {
        let ids: [ManagedObjectID]
        /// Nil for members of a relationship without changes: their objects are created on access.
        let objects: [Element]?

        init(ids: [ManagedObjectID] = [], objects: [Element]? = nil) {
            self.ids = ids
            self.objects = objects
        }
    }

    public var startIndex: Index {
        Index(position: 0, members: changes.isEmpty ? Members(ids: base?.ids ?? []) : Members(objects: objectList))
    }

    public var endIndex: Index { Index(position: count, members: Members()) }
    public func index(after i: Index) -> Index { Index(position: i.position + 1, members: i.members) }

    public subscript(position: Index) -> Element {
        if let objects = position.members.objects { return objects[position.position] }
        guard let base else { misuse("The index \(position.position) is outside of an empty ManagedSet.") }
        return base.object(position.members.ids[position.position])
    }

    public func makeIterator() -> MemberIterator<Element> {
        guard changes.isEmpty, let base else { return MemberIterator(objectList) }
        return MemberIterator(owner: base.owner, property: base.property)
    }
}

extension ManagedSet: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension ManagedSet: CustomStringConvertible {
    public var description: String { "ManagedSet<\(Element.self)>(\(count))" }
}

/// A change of a set since its relationship was read.
private struct MemberChange {
    var isMember: Bool
    /// The number of the change, which determines the order.
    var step: Int
}

/// The relationship that a collection was read from.
struct ToManyBase {
    let owner: ManagedObject
    let property: PropertyDescription

    var ids: [ManagedObjectID] { owner.members(of: property) }
    var count: Int { owner.memberCount(of: property) }

    func contains(_ member: ManagedObject) -> Bool { owner.hasMember(member.objectID, in: property) }

    func object<Element: ManagedObject>(at place: Int) -> Element? { owner.member(at: place, of: property).map(object) }

    func object<Element: ManagedObject>(_ id: ManagedObjectID) -> Element { owner.typed(owner.scope.context.object(with: id), property) }
}
