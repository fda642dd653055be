internal import HornbeamModel

/// The object whose relationship an import sets, with that relationship (SEED-7).
struct ImportOwner {
    let object: ManagedObject
    let property: PropertyDescription

    /// The members of the relationship.
    var members: [ManagedObjectID] {
        if property.isToMany { return object.members(of: property) }
        return object.destination(of: property).map { [$0.objectID] } ?? []
    }

    /// - Throws: `typeMismatch` for a relationship to another entity.
    func check(_ entity: EntityDescription) throws {
        guard let destination = property.destinationEntity, !entity.isKind(of: destination) else { return }
        throw HornbeamError(.typeMismatch, "\(property) does not take objects of \(entity.name).", entity: entity.name, key: property.name)
    }
}

/// Changes the objects of a context to the values of rows. A refused row leaves no change.
final class ImportWriter {
    enum Outcome { case inserted, updated, unchanged }

    private let context: ManagedObjectContext
    private let owner: ImportOwner?
    /// Reverts the changes of the current row, last ones first.
    private var undo: [() -> Void] = []
    /// The objects that the current row made or changed, each to be validated once.
    private var touched: [ManagedObject] = []
    private(set) var relatedInserted = 0
    private(set) var relatedUpdated = 0
    /// The object of the row that was refused last, if it existed before.
    private(set) var refusedObject: ManagedObject?

    init(_ context: ManagedObjectContext, _ owner: ImportOwner?) {
        self.context = context
        self.owner = owner
    }

    /// Notes the keys of a row and its related rows for the next lookup.
    func gather(_ row: ConvertedRow, _ target: ImportTarget) {
        if let lookup = target.lookup, let key = row.key, !key.isNull { lookup.want(key) }
        for (related, link) in zip(row.links, target.links) {
            for row in related ?? [] { gather(row, link.target) }
        }
    }

    /// Changes the object of a row, or makes one.
    ///
    /// - Throws: The reason for which the row is refused; then nothing is changed.
    func write(_ row: ConvertedRow, _ target: ImportTarget) throws -> (object: ManagedObject, outcome: Outcome) {
        undo.removeAll(keepingCapacity: true)
        touched.removeAll(keepingCapacity: true)
        refusedObject = nil
        let related = (relatedInserted, relatedUpdated)
        do {
            var (object, outcome) = try apply(row, target)
            if outcome != .inserted { refusedObject = object }
            if link(object), outcome == .unchanged { outcome = .updated }
            for object in touched { try object.isInserted ? object.validateForInsert() : object.validateForUpdate() }
            return (object, outcome)
        } catch {
            for action in undo.reversed() { action() }
            (relatedInserted, relatedUpdated) = related
            throw error
        }
    }

    // MARK: One object

    private func apply(_ row: ConvertedRow, _ target: ImportTarget) throws -> (object: ManagedObject, outcome: Outcome) {
        guard let object = try object(of: row, target) else { return (try insert(row, target), .inserted) }
        refusedObject = refusedObject ?? object
        var isChanged = false
        for (value, property) in zip(row.values, target.properties) {
            guard let value, !object.has(value, property) else { continue }
            isChanged = true
            let old = object.currentValue(of: property)
            undo.append { object.assign(old, to: property) }
            object.assign(value, to: property)
        }
        if try linkRelated(row, target, object) { isChanged = true }
        if isChanged { touched.append(object) }
        return (object, isChanged ? .updated : .unchanged)
    }

    private func insert(_ row: ConvertedRow, _ target: ImportTarget) throws -> ManagedObject {
        guard target.insertsMissing else {
            throw HornbeamError(
                .objectNotFound, "There is no \(target.entity.name) for the row, and its mapping inserts none.", entity: target.entity.name)
        }
        let object = try context.insert(entityNamed: target.entity.name)
        undo.append { [context] in context.delete(object) }
        touched.append(object)
        if let key = row.key, let property = target.key {
            guard !key.isNull else {
                throw HornbeamError(
                    .missingRequiredValue, "The row has no value for the key “\(property.name)”.", entity: target.entity.name, key: property.name)
            }
            object.assign(key, to: property)
            if let lookup = target.lookup {
                lookup.insert(object, key)
                if lookup.isUnique { context.tracker.upserted.insert(ObjectIdentifier(object)) }
            }
        }
        for (value, property) in zip(row.values, target.properties) {
            guard let value, !object.setValueOfNewObject(value, at: property.index) else { continue }
            object.assign(value, to: property)
        }
        _ = try linkRelated(row, target, object)
        return object
    }

    private func object(of row: ConvertedRow, _ target: ImportTarget) throws -> ManagedObject? {
        if let key = row.key { return target.lookup?[key] }
        guard let predicate = row.predicate else { return nil }
        let request = FetchRequest<ManagedObject>(entityName: target.entity.name, predicate: predicate).limit(1)
        return try context.fetch(request).first
    }

    // MARK: Relationships

    private func linkRelated(_ row: ConvertedRow, _ target: ImportTarget, _ object: ManagedObject) throws -> Bool {
        var isChanged = false
        for (rows, link) in zip(row.links, target.links) {
            guard let rows else { continue }
            let members = try rows.map { try related($0, link.target) }
            let hasChanged = link.property.isToMany
                ? replace(members, link.property, link.members, of: object) : set(members.last, link.property, of: object)
            if hasChanged { isChanged = true }
        }
        return isChanged
    }

    private func related(_ row: ConvertedRow, _ target: ImportTarget) throws -> ManagedObject {
        let kept = refusedObject
        let (object, outcome) = try apply(row, target)
        refusedObject = kept
        if outcome == .inserted { relatedInserted += 1 }
        if outcome == .updated { relatedUpdated += 1 }
        return object
    }

    private func set(_ destination: ManagedObject?, _ property: PropertyDescription, of object: ManagedObject) -> Bool {
        let wanted = destination.map { PropertyValue.objectID($0.objectID) } ?? .null
        guard object.currentValue(of: property) != wanted else { return false }
        let old = object.destination(of: property)
        undo.append { object.setDestination(old, of: property) }
        object.setDestination(destination, of: property)
        return true
    }

    private func replace(
        _ members: [ManagedObject], _ property: PropertyDescription, _ mode: ImportMembers, of object: ManagedObject
    ) -> Bool {
        let old = object.members(of: property)
        var wanted: [ManagedObjectID] = mode == .add ? old : []
        var known = Set(wanted)
        for member in members where known.insert(member.objectID).inserted { wanted.append(member.objectID) }
        guard property.isOrdered ? old != wanted : Set(old) != known else { return false }
        undo.append { [context] in object.replaceMembers(old.map(context.object), of: property) }
        object.replaceMembers(wanted.map(context.object), of: property)
        return true
    }

    /// Sets the relationship of the owner; true when it was another.
    private func link(_ object: ManagedObject) -> Bool {
        guard let owner else { return false }
        let (source, property) = (owner.object, owner.property)
        guard property.isToMany else { return set(object, property, of: source) }
        guard !source.hasMember(object.objectID, in: property) else { return false }
        undo.append { source.remove(object, from: property) }
        source.add(object, to: property)
        return true
    }
}
