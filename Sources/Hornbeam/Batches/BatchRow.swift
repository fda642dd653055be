public import HornbeamModel
internal import HornbeamStore

/// One new object of a batch insert, to be filled.
///
/// Valid during the call of the request's handler. A property that is not set has its default. A value of the wrong type
/// ends the request with an error after the handler returns.
public final class BatchRow {
    /// The entity of the new object.
    public let entity: EntityDescription
    private let writer: BatchWriter
    /// True if values are written directly into the cells; if false, they are collected until the row is complete.
    private let isDirect: Bool
    // The fields are unchecked, because one thread fills a row, and accesses never overlap.
    /// The properties that were set.
    @safe @exclusivity(unchecked) private var given = PropertySet()
    private var values: [PropertyValue?]
    @safe @exclusivity(unchecked) private var members: [Int: [ObjectReference]] = [:]
    private let reference: (ManagedObjectID) -> ObjectReference?
    /// The properties with a default, for rows that do not set them.
    private let defaults: [(index: Int, value: PropertyValue)]
    /// Whether each property is an attribute that is written directly into its cell if the value needs no conversion.
    private let isPlain: [Bool]
    @safe @exclusivity(unchecked) private var failure: (any Error)?

    init(
        _ entity: EntityDescription, _ writer: BatchWriter, isDirect: Bool,
        reference: @escaping (ManagedObjectID) -> ObjectReference?
    ) {
        self.entity = entity
        self.writer = writer
        self.isDirect = isDirect
        self.reference = reference
        values = Array(repeating: nil, count: entity.properties.count)
        isPlain = entity.properties.map { isDirect && $0.isAttribute && !$0.isTransient && !$0.isDerived }
        defaults = entity.properties.filter { !$0.isTransient && !$0.defaultValue.isNull }
            .map { ($0.index, $0.defaultValue) }
    }

    // MARK: Setting values

    /// Sets an attribute: `row.set(Event.latitude, 59.9)`. A missing attribute is a programmer error.
    @inlinable
    public func set<Value: AttributeValue>(_ token: Attribute<Value>, _ value: Value) {
        set(token.nameID, value.propertyValue)
    }

    /// Sets a to-one relationship to a stored object; nil for none.
    public func set<Object>(_ token: ToOne<Object>, _ id: ManagedObjectID?) {
        set(token.nameID, id.map(PropertyValue.objectID) ?? .null)
    }

    /// Adds stored objects to a to-many relationship of the new object.
    public func add<Object>(_ ids: some Sequence<ManagedObjectID>, to token: ToMany<Object>) {
        add(ids, to: property(token.nameID))
    }

    /// Adds stored objects at the end of an ordered relationship of the new object.
    public func add<Object>(_ ids: some Sequence<ManagedObjectID>, to token: OrderedToMany<Object>) {
        add(ids, to: property(token.nameID))
    }

    /// Sets a property by its name. An unknown name ends the request with `unknownKey`.
    public func set(_ name: String, _ value: PropertyValue) {
        do {
            let property = try entity.property(named: name)
            guard property.isToMany else { return try assign(value, to: property) }
            switch value {
            case .array(let list): add(try list.map { try objectID($0, property) }, to: property)
            case .set(let list): add(try list.map { try objectID($0, property) }, to: property)
            default: throw notMembers(value, property)
            }
        } catch {
            fail(error)
        }
    }

    @usableFromInline
    func set(_ nameID: PropertyNameID, _ value: PropertyValue) {
        if let index = entity.index(of: nameID), isPlain[index] {
            do {
                if try writer.setUnconverted(index, value) { return given.insert(index) }
            } catch { return fail(error) }
        }
        let property = property(nameID)
        do { try assign(value, to: property) } catch { fail(error) }
    }

    private func property(_ nameID: PropertyNameID) -> PropertyDescription {
        guard let index = entity.index(of: nameID) else {
            misuse("\(entity.name) has no property of the token that was set in a batch row.")
        }
        return entity.properties[index]
    }

    private func assign(_ value: PropertyValue, to property: PropertyDescription) throws {
        if property.isTransient { return }
        if property.isDerived { throw derived(property) }
        given.insert(property.index)
        guard isDirect else { return values[property.index] = value }
        switch value {
        case .int(let number): try writer.set(property, number)
        case .string(let text): try writer.set(property, text)
        default: try writer.set(property, value)
        }
    }

    private func add(_ ids: some Sequence<ManagedObjectID>, to property: PropertyDescription) {
        for id in ids {
            guard let reference = reference(id) else { return fail(foreign(id, property)) }
            guard isMember(reference, of: property) else { return fail(notMembers(.objectID(id), property)) }
            members[property.index, default: []].append(reference)
        }
    }

    private func isMember(_ object: ObjectReference, of property: PropertyDescription) -> Bool {
        guard let destination = property.destinationEntity else { return false }
        return entity.managedObjectModel.entities[Int(object.entityIndex)].isKind(of: destination)
    }

    // MARK: Errors

    private func fail(_ error: any Error) { failure = failure ?? error }

    private func objectID(_ value: PropertyValue, _ property: PropertyDescription) throws -> ManagedObjectID {
        if case .objectID(let id) = value { return id }
        throw notMembers(value, property)
    }

    private func notMembers(_ value: PropertyValue, _ property: PropertyDescription) -> HornbeamError {
        let given = if case .objectID(let id) = value { "an object of “\(id.entityName)”" } else { value.kindWithArticle }
        return HornbeamError(
            .typeMismatch,
            "The members of “\(entity.name).\(property.name)” are an array or a set of IDs of objects of "
                + "“\(property.destinationEntity?.name ?? "")”, and \(given) was given.",
            entity: entity.name, key: property.name, value: value)
    }

    private func derived(_ property: PropertyDescription) -> HornbeamError {
        HornbeamError(
            .validation, "“\(entity.name).\(property.name)” is derived: it is computed, and cannot be set.",
            entity: entity.name, key: property.name)
    }

    private func foreign(_ id: ManagedObjectID, _ property: PropertyDescription) -> HornbeamError {
        HornbeamError(
            .relationshipAcrossStores,
            "“\(entity.name).\(property.name)” names an object that was never saved, or one of another store.",
            entity: entity.name, key: property.name, objectIDs: [id])
    }

    // MARK: Writing

    /// Writes the row and clears it for the next one.
    func write() throws -> BatchWriter.RowOutcome {
        defer { clear() }
        if let failure { throw failure }
        guard isDirect else { return try writer.append(values, members: members) }
        for (index, value) in defaults where !given.contains(index) {
            try writer.set(entity.properties[index], value)
        }
        let key = members.isEmpty ? try writer.append() : try writer.append(members: members)
        return .inserted(ObjectReference(entity, key))
    }

    /// Returns the values of the row and clears it for the next one.
    func take() throws -> (values: [PropertyValue?], members: [Int: [ObjectReference]]) {
        defer { clear() }
        if let failure { throw failure }
        return (values, members)
    }

    private func clear() {
        failure = nil
        given.removeAll()
        members.removeAll(keepingCapacity: true)
        guard !isDirect else { return }
        for index in values.indices { values[index] = nil }
    }
}
