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

    /// A change of the current row, with the state before.
    private enum Change {
        case insertion(ManagedObject)
        case value(PropertyValue, PropertyDescription, ManagedObject)
        case destination(ManagedObject?, PropertyDescription, ManagedObject)
        case members([ManagedObjectID], PropertyDescription, ManagedObject)
        case addition(ManagedObject, to: ImportOwner)
    }

    private let context: ManagedObjectContext
    private let owner: ImportOwner?
    /// True to validate the objects at the other ends of changed relationships row by row. Otherwise the save validates them.
    private let checksOtherEnds: Bool
    /// The entity of the rows.
    private var root: EntityDescription?
    /// The changes of the current row, in their order.
    private var changes: [Change] = []
    /// The objects that the current row made or changed, each to be validated once.
    private var touched: [ManagedObject] = []
    /// The objects that the current row named, related ones included, of the entity of the import.
    private(set) var named: [ManagedObject] = []
    private(set) var relatedInserted = 0
    private(set) var relatedUpdated = 0
    /// The object of the row that was refused last, if it existed before.
    private(set) var refusedObject: ManagedObject?

    init(_ context: ManagedObjectContext, _ owner: ImportOwner?, checksOtherEnds: Bool) {
        self.context = context
        self.owner = owner
        self.checksOtherEnds = checksOtherEnds
    }

    /// Changes the object of a row, or makes one.
    ///
    /// - Throws: The reason for which the row is refused; then nothing is changed.
    func write(_ row: ConvertedRow, _ target: ImportTarget) throws -> (object: ManagedObject, outcome: Outcome) {
        changes.removeAll(keepingCapacity: true)
        touched.removeAll(keepingCapacity: true)
        named.removeAll(keepingCapacity: true)
        root = target.entity
        refusedObject = nil
        let related = (relatedInserted, relatedUpdated)
        do {
            var (object, outcome) = try apply(row, target)
            if outcome != .inserted { refusedObject = object }
            if link(object), outcome == .unchanged { outcome = .updated }
            for object in touched { try object.isInserted ? object.validateForInsert() : object.validateForUpdate() }
            return (object, outcome)
        } catch {
            for change in changes.reversed() { revert(change) }
            (relatedInserted, relatedUpdated) = related
            throw error
        }
    }

    private func revert(_ change: Change) {
        switch change {
        case .insertion(let object): context.delete(object)
        case .value(let old, let property, let object): object.assign(old, to: property)
        case .destination(let old, let property, let object): object.setDestination(old, of: property)
        case .members(let old, let property, let object): object.replaceMembers(old.map(context.object), of: property)
        case .addition(let object, let owner): owner.object.remove(object, from: owner.property)
        }
    }

    // MARK: One object

    private func apply(_ row: ConvertedRow, _ target: ImportTarget) throws -> (object: ManagedObject, outcome: Outcome) {
        guard let object = try object(of: row, target) else { return (try insert(row, target), .inserted) }
        refusedObject = refusedObject ?? object
        note(object)
        var isChanged = false
        for (place, property) in target.properties.enumerated() {
            guard let value = row.values[place], !object.has(value, property) else { continue }
            isChanged = true
            changes.append(.value(object.currentValue(of: property), property, object))
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
        changes.append(.insertion(object))
        touched.append(object)
        note(object)
        if let lookup = target.lookup {
            guard let entry = row.entry else {
                throw HornbeamError(
                    .missingRequiredValue, "The row has no value for the key “\(lookup.key.name)”.", entity: target.entity.name,
                    key: lookup.key.name)
            }
            object.assign(entry.key, to: lookup.key)
            lookup.insert(object, entry)
            if lookup.isUnique { context.tracker.upserted.insert(ObjectIdentifier(object)) }
        }
        for (place, property) in target.properties.enumerated() {
            guard let value = row.values[place], !object.setValueOfNewObject(value, at: property.index) else { continue }
            object.assign(value, to: property)
        }
        _ = try linkRelated(row, target, object)
        return object
    }

    private func note(_ object: ManagedObject) {
        if let root, object.entity.isKind(of: root) { named.append(object) }
    }

    private func object(of row: ConvertedRow, _ target: ImportTarget) throws -> ManagedObject? {
        if target.lookup != nil { return row.entry?.object }
        guard let predicate = row.predicate else { return nil }
        let request = FetchRequest<ManagedObject>(entityName: target.entity.name, predicate: predicate).limit(1)
        return try context.fetch(request).first
    }

    // MARK: Relationships

    private func linkRelated(_ row: ConvertedRow, _ target: ImportTarget, _ object: ManagedObject) throws -> Bool {
        var isChanged = false
        for (place, link) in target.links.enumerated() {
            guard let rows = row.links[place] else { continue }
            let hasChanged: Bool
            if link.property.isToMany {
                hasChanged = replace(try rows.map { try related($0, link.target) }, link.property, link.members, of: object)
            } else {
                guard rows.count <= 1 else {
                    throw HornbeamError(
                        .typeMismatch, "The row names \(rows.count) objects for \(link.property), which leads to one object.", entity: target.entity.name,
                        key: link.property.name)
                }
                hasChanged = set(try rows.first.map { try related($0, link.target) }, link.property, of: object)
            }
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
        if case .objectID(let held) = object.currentValue(of: property) {
            if held == destination?.objectID { return false }
        } else if destination == nil {
            return false
        }
        let old = object.destination(of: property)
        if let old, let inverse = property.inverse, inverse.isOrdered { changes.append(.members(old.members(of: inverse), inverse, old)) }
        if let destination { recordFormerEnd(of: destination, property) }
        changes.append(.destination(old, property, object))
        object.setDestination(destination, of: property)
        touch([old, destination].compactMap(\.self), inverseOf: property)
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
        if let inverse = property.inverse, !inverse.isToMany {
            let before = Set(old)
            for member in members where !before.contains(member.objectID) { recordFormerEnd(of: member, property) }
            for id in old where !known.contains(id) { touched.append(context.object(with: id)) }
        }
        changes.append(.members(old, property, object))
        object.replaceMembers(wanted.map(context.object), of: property)
        touch(Set(old).symmetricDifference(known).map(context.object), inverseOf: property)
        return true
    }

    /// Validates the objects at the other end of a relationship at the end of the row, if that end limits their number.
    private func touch(_ objects: [ManagedObject], inverseOf property: PropertyDescription) {
        guard checksOtherEnds, let inverse = property.inverse, inverse.needsValidation else { return }
        touched += objects
    }

    /// Sets the relationship of the owner; true when it was another.
    private func link(_ object: ManagedObject) -> Bool {
        guard let owner else { return false }
        let (source, property) = (owner.object, owner.property)
        guard property.isToMany else { return set(object, property, of: source) }
        guard !source.hasMember(object.objectID, in: property) else { return false }
        recordFormerEnd(of: object, property)
        changes.append(.addition(object, to: owner))
        source.add(object, to: property)
        if checksOtherEnds {
            if property.needsValidation { touched.append(source) }
            touch([object], inverseOf: property)
        }
        return true
    }

    /// Records the object that a member leaves: a link whose inverse is to-one takes the member away from its former owner.
    private func recordFormerEnd(of member: ManagedObject, _ property: PropertyDescription) {
        guard let inverse = property.inverse, !inverse.isToMany else { return }
        let former = member.destination(of: inverse)
        if let former {
            touched.append(former)
            if property.isOrdered { changes.append(.members(former.members(of: property), property, former)) }
        }
        changes.append(.destination(former, inverse, member))
    }
}
