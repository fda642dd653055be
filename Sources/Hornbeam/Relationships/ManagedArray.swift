internal import HornbeamModel

/// The objects of an ordered to-many relationship, each once, in order. They are loaded on access (REL-5).
///
/// The array is a value that reads its relationship on demand. `count` loads nothing, and an iteration reads the order once.
/// An index reads one position in O(log n), or O(n) if the relationship has unsaved changes. A mutation through an object's
/// property changes the object and the inverse immediately. A mutation of a copy in a variable changes only the copy,
/// until it is assigned to a property.
public struct ManagedArray<Element: ManagedObject> {
    /// The relationship; nil for an independent array.
    private var base: ToManyBase?
    /// The changes since the relationship was read: any number of appended objects, or one change of another kind.
    private var steps: [Step] = []
    /// The members of an independent array.
    private var list = UniqueList()

    fileprivate enum Step {
        case append(Element)
        case insert(Element, place: Int)
        case remove(Element)
        case replace(Element, with: Element)
    }

    init(owner: ManagedObject, property: PropertyDescription) { base = ToManyBase(owner: owner, property: property) }

    /// An array that belongs to no relationship. Later occurrences of an object are ignored.
    public init(_ elements: some Sequence<Element>) {
        for element in elements { list.append(element) }
    }

    // MARK: Changing

    /// Adds an object at the end. Does nothing if it is a member.
    public mutating func append(_ member: Element) {
        guard base != nil, steps.last?.isAppending ?? true else { return addStep(.append(member)) }
        steps.append(.append(member))
    }

    /// Adds several objects at the end, except those that are already members.
    public mutating func append(contentsOf members: some Sequence<Element>) {
        for member in members { append(member) }
    }

    /// Inserts an object at a position. A member is moved there.
    public mutating func insert(_ member: Element, at place: Int) {
        require((0...count).contains(place), "Place \(place) is outside the \(count) objects of this ManagedArray.")
        addStep(.insert(member, place: place))
    }

    /// Removes an object. Does nothing if it is not a member.
    public mutating func remove(_ member: Element) { addStep(.remove(member)) }

    /// Removes the object at a position.
    public mutating func remove(at place: Int) { remove(self[place]) }

    /// Removes the object at a position and inserts another one there.
    public mutating func replace(at place: Int, with member: Element) {
        require(indices.contains(place), "Place \(place) is outside the \(count) objects of this ManagedArray.")
        addStep(.replace(self[place], with: member))
    }

    /// Removes all members.
    public mutating func removeAll() {
        base = nil
        steps = []
        list = UniqueList()
    }

    /// Records the first change as relative to the relationship. At a second change, the array becomes independent of the relationship.
    private mutating func addStep(_ step: Step) {
        if base != nil, steps.isEmpty {
            steps = [step]
            return
        }
        if base != nil {
            list = UniqueList(objectList)
            base = nil
            steps = []
        }
        step.apply(to: &list)
    }

    /// Sets an object's relationship to these members. If the array was read from this relationship, only its changes are applied.
    func assign(to owner: ManagedObject, _ property: PropertyDescription) {
        guard let base, base.owner === owner, base.property === property else {
            return owner.replaceMembers(objectList.map { $0 as ManagedObject }, of: property)
        }
        for step in steps { step.apply(to: owner, property) }
    }

    // MARK: Reading

    /// The relationship, if the array has no changes of its own.
    var unchangedRelationship: ToManyBase? { steps.isEmpty ? base : nil }

    /// The IDs of the members in order; creates no object.
    public var objectIDs: [ManagedObjectID] {
        guard let base, steps.isEmpty else { return objectList.map(\.objectID) }
        return base.ids
    }

    private var objectList: [Element] {
        guard let base else { return list.elements }
        var members = MemberIterator<Element>(owner: base.owner, property: base.property)
        var list: [Element] = []
        list.reserveCapacity(base.count + steps.count)
        while let member = members.next() { list.append(member) }
        if steps.isEmpty { return list }
        var changed = UniqueList(list)
        for step in steps { step.apply(to: &changed) }
        return changed.elements
    }

    /// Distinct objects in an order; appending takes O(1).
    fileprivate struct UniqueList {
        private(set) var elements: [Element] = []
        private var members: Set<Element> = []

        init() {}

        init(_ elements: [Element]) {
            self.elements = elements
            members = Set(elements)
        }

        func place(of member: Element) -> Int? { members.contains(member) ? elements.firstIndex(of: member) : nil }

        mutating func append(_ member: Element) {
            if members.insert(member).inserted { elements.append(member) }
        }

        mutating func insert(_ member: Element, at place: Int) {
            remove(member)
            members.insert(member)
            elements.insert(member, at: Swift.min(place, elements.count))
        }

        mutating func remove(_ member: Element) {
            if members.remove(member) != nil { elements.removeAll { $0 == member } }
        }
    }
}

extension ManagedArray.Step {
    fileprivate var isAppending: Bool {
        guard case .append = self else { return false }
        return true
    }

    fileprivate func apply(to list: inout ManagedArray.UniqueList) {
        switch self {
        case .append(let member): list.append(member)
        case .insert(let member, let place): list.insert(member, at: place)
        case .remove(let member): list.remove(member)
        case .replace(let old, let member):
            guard old != member else { return }
            let place = list.place(of: old) ?? list.elements.count
            Self.insert(member, place: place).apply(to: &list)
            Self.remove(old).apply(to: &list)
        }
    }

    fileprivate func apply(to owner: ManagedObject, _ property: PropertyDescription) {
        switch self {
        case .append(let member): owner.add(member, to: property)
        case .insert(let member, let place): owner.add(member, to: property, at: place)
        case .remove(let member): owner.remove(member, from: property)
        case .replace(let old, let member):
            guard old != member else { return }
            let place = owner.members(of: property).firstIndex(of: old.objectID)
            owner.add(member, to: property, at: place)
            owner.remove(old, from: property)
        }
    }
}

extension ManagedArray: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int {
        guard let base else { return list.elements.count }
        return steps.isEmpty ? base.count : objectList.count
    }

    public subscript(position: Int) -> Element {
        guard let base, steps.isEmpty else { return objectList[position] }
        guard position >= 0, let object: Element = base.object(at: position) else {
            misuse("Place \(position) is outside the \(base.count) objects of this ManagedArray.")
        }
        return object
    }

    public func makeIterator() -> MemberIterator<Element> {
        guard let base, steps.isEmpty else { return MemberIterator(objectList) }
        return MemberIterator(owner: base.owner, property: base.property)
    }
}

extension ManagedArray: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension ManagedArray: CustomStringConvertible {
    public var description: String { "ManagedArray<\(Element.self)>(\(count))" }
}
