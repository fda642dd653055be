public import HornbeamModel
internal import HornbeamStore

// The values of one attribute of the members of a relationship, read from the rows without objects.

extension ManagedSet {
    /// The values of an attribute of the members, in the order of iteration: `department.employees.map(Employee.salary)`.
    ///
    /// Creates no objects. A member that the context has as an object is read through it, so its unsaved changes are included.
    @inlinable
    public func map<Value: AttributeValue>(_ attribute: Attribute<Value>) -> [Value] {
        cells(attribute.nameID, Value.cellForm)?.values() ?? map { $0[attribute] }
    }

    /// The sum of the values of an attribute of the members: `department.employees.sum(Employee.salary)`. Creates no objects, like `map`.
    ///
    /// A sum beyond the range of its integer type is a programmer error and ends the process, as for `reduce(0, +)`. If the values can be that large, add those
    /// of `map` in a larger type.
    @inlinable
    public func sum<Value: AttributeValue & AdditiveArithmetic>(_ attribute: Attribute<Value>) -> Value {
        cells(attribute.nameID, Value.cellForm)?.sum() ?? map(attribute).reduce(.zero, MemberCells.adding)
    }

    /// The values of an attribute of the members, named by a key path to its token: `department.employees.map(\.salary)`.
    ///
    /// Creates no objects. Returns the attribute's values, as its generated getter does; a getter that computes another value is not called.
    @inlinable
    public func map<Value: AttributeValue>(_ path: KeyPath<Element.Type, Attribute<Value>>) -> [Value] { map(Element.self[keyPath: path]) }

    /// The sum of the values of an attribute of the members, named by a key path to its token: `department.employees.sum(\.salary)`.
    @inlinable
    public func sum<Value: AttributeValue & AdditiveArithmetic>(_ path: KeyPath<Element.Type, Attribute<Value>>) -> Value {
        sum(Element.self[keyPath: path])
    }

    /// Nil if the members must be read as objects.
    @usableFromInline
    func cells(_ nameID: PropertyNameID, _ form: CellForm) -> MemberCells? { unchangedRelationship?.cells(nameID, form) }
}

extension ManagedArray {
    /// The values of an attribute of the members, in order. Creates no objects, like `ManagedSet.map`.
    @inlinable
    public func map<Value: AttributeValue>(_ attribute: Attribute<Value>) -> [Value] {
        cells(attribute.nameID, Value.cellForm)?.values() ?? map { $0[attribute] }
    }

    /// The sum of the values of an attribute of the members, like that of a `ManagedSet`.
    @inlinable
    public func sum<Value: AttributeValue & AdditiveArithmetic>(_ attribute: Attribute<Value>) -> Value {
        cells(attribute.nameID, Value.cellForm)?.sum() ?? map(attribute).reduce(.zero, MemberCells.adding)
    }

    /// The values of an attribute of the members, named by a key path to its token: `department.employees.map(\.salary)`.
    ///
    /// Creates no objects. Returns the attribute's values, as its generated getter does; a getter that computes another value is not called.
    @inlinable
    public func map<Value: AttributeValue>(_ path: KeyPath<Element.Type, Attribute<Value>>) -> [Value] { map(Element.self[keyPath: path]) }

    /// The sum of the values of an attribute of the members, named by a key path to its token: `department.employees.sum(\.salary)`.
    @inlinable
    public func sum<Value: AttributeValue & AdditiveArithmetic>(_ path: KeyPath<Element.Type, Attribute<Value>>) -> Value {
        sum(Element.self[keyPath: path])
    }

    /// Nil if the members must be read as objects.
    @usableFromInline
    func cells(_ nameID: PropertyNameID, _ form: CellForm) -> MemberCells? { unchangedRelationship?.cells(nameID, form) }
}

/// The cells of one attribute of the members of a relationship; nil for a member without a value.
@usableFromInline
enum MemberCells {
    case integers([Int64?])
    case doubles([Double?])
    case texts([String?])

    /// Nil if a cell has a value that the type cannot represent.
    @inlinable
    func values<Value: AttributeValue>() -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(count)
        return forEach { values.append($0) } ? values : nil
    }

    /// The sum of the values; nil if a cell has a value that the type cannot represent.
    @inlinable
    func sum<Value: AttributeValue & AdditiveArithmetic>() -> Value? {
        var sum = Value.zero
        return forEach { sum = Self.adding(sum, $0) } ? sum : nil
    }

    @inlinable @inline(__always)
    static func adding<Value: AttributeValue & AdditiveArithmetic>(_ sum: Value, _ value: Value) -> Value {
        if Value.isOverflow(sum, plus: value) { endBeyondRange(of: Value.self) }
        return sum + value
    }

    @usableFromInline @inline(never)
    static func endBeyondRange(of type: Any.Type) -> Never {
        misuse("The sum of the values of members is beyond the range of \(type). Read the values with map(_:), and add them in a larger type.")
    }

    @inlinable var count: Int {
        switch self {
        case .integers(let cells): cells.count
        case .doubles(let cells): cells.count
        case .texts(let cells): cells.count
        }
    }

    /// Calls `body` with each value. False if a cell has a value that the type cannot represent.
    @inlinable @inline(__always)
    func forEach<Value: AttributeValue>(_ body: (Value) -> Void) -> Bool {
        switch self {
        case .integers(let cells): Self.forEach(of: cells, { Value(integerCell: $0) }, body)
        case .doubles(let cells): Self.forEach(of: cells, { Value(doubleCell: $0) }, body)
        case .texts(let cells): Self.forEach(of: cells, { Value(stringCell: $0) }, body)
        }
    }

    @inlinable @inline(__always)
    static func forEach<Cell, Value: AttributeValue>(of cells: [Cell?], _ convert: (Cell) -> Value?, _ body: (Value) -> Void) -> Bool {
        for cell in cells {
            guard let cell else {
                body(Value.nullCell ?? Value.unsetValue)
                continue
            }
            guard let value = convert(cell) else { return false }
            body(value)
        }
        return true
    }
}

extension ToManyBase {
    /// Nil if the relationship has unsaved changes, its members have several entities, or observers watch the context.
    fileprivate func cells(_ nameID: PropertyNameID, _ form: CellForm) -> MemberCells? {
        guard form != .other, let context = owner.readingContext, context.parent == nil, owner.scope.hub == nil,
            let reader = owner.unchangedMembers(of: property)?.reader
        else { return nil }
        if let cells = storedCells(nameID, form, reader, context) { return cells }
        return context.cells(of: owner.references(at: 0..<Int.max, in: reader), nameID, form)
    }

    /// The cells of integers or numbers in the rows of the members, which have one entity; nil if an object of the context may have another value.
    private func storedCells(_ nameID: PropertyNameID, _ form: CellForm, _ reader: MemberReader, _ context: ManagedObjectContext) -> MemberCells? {
        guard form != .string, let entity = reader.onlyEntity, entity >= 0, let keys = try? reader.memberKeys(owner: owner.key, range: 0..<Int.max)
        else { return nil }
        let scope = context.scope(at: Int(entity), in: owner.scope.slot)
        let index = scope.index(of: nameID)
        guard !scope.isIncremental, scope.isCell(index, of: form), context.registry.haveNoState(keys, scope.keyBits),
            let cells = try? scope.readingCells()
        else { return nil }
        if form == .integer { return (try? cells.integers(index, keys)).map { .integers($0) } }
        return (try? cells.doubles(index, keys)).map { .doubles($0) }
    }
}

extension ManagedObjectContext {
    /// The cells of one attribute of stored objects, in their order; nil if the objects have several entities or stores, or if a row cannot be read.
    func cells(of objects: [ObjectReference], _ nameID: PropertyNameID, _ form: CellForm) -> MemberCells? {
        guard let first = objects.first else { return .integers([]) }
        let scope = scope(at: Int(first.entityIndex), in: first.slot)
        let index = scope.index(of: nameID)
        guard !scope.isIncremental, scope.isCell(index, of: form),
            objects.allSatisfy({ $0.entityIndex == first.entityIndex && $0.slot == first.slot }), let cells = try? scope.readingCells()
        else { return nil }
        switch form {
        case .integer:
            return read(objects, cells, scope) { $0.integerCell(nameID) } cell: { key, hint in
                if let cell = cells.plainInteger(index, hint) { return cell }
                return try cells.integer(index, key, &hint)
            }.map { .integers($0) }
        case .double:
            return read(objects, cells, scope) { $0.doubleCell(nameID) } cell: { key, hint in
                if let cell = cells.plainDouble(index, hint) { return cell }
                return try cells.double(index, key, &hint)
            }.map { .doubles($0) }
        default:
            return read(objects, cells, scope) { $0.stringCell(nameID) } cell: { key, hint in
                if let cell = cells.plainString(index, hint) { return cell }
                return try cells.string(index, key, &hint)
            }.map { .texts($0) }
        }
    }

    /// Locates the rows of the objects, which prefetches their cells, and then reads the cells. Nil if a row cannot be read; the object then
    /// reports the failure.
    @inline(__always)
    private func read<Cell>(
        _ objects: [ObjectReference], _ cells: CellReader, _ scope: EntityScope, object: (ManagedObject) -> Cell?,
        cell: (UInt64, inout RowHint) throws -> Cell??
    ) -> [Cell?]? {
        var hints = [RowHint](repeating: RowHint(), count: objects.count)
        for place in objects.indices {
            guard let isThere = try? cells.find(StoreSlot.local(objects[place].key), &hints[place]), isThere else { return nil }
        }
        var values: [Cell?] = []
        values.reserveCapacity(objects.count)
        for (place, reference) in objects.enumerated() {
            if let known = registry.object(reference.key, of: scope) {
                values.append(object(known))
                continue
            }
            guard let value = try? cell(StoreSlot.local(reference.key), &hints[place]) else { return nil }
            values.append(value)
        }
        return values
    }
}
