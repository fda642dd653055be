public import HornbeamModel
internal import HornbeamStore

/// A running stage of a migration, with the old objects to read and the new objects to write (MIG-9).
///
/// Objects of both versions have the classes of their schema, or are accessed by name. Surviving objects are already in the destination,
/// with all values that could be copied. Other users of the store see the changes only when the stage is complete.
///
/// Valid inside the closure that receives it, on the same thread.
public final class CustomMigration {
    /// The store in the old version, after `willMigrate`. Read-only.
    public let source: ManagedObjectContext
    /// The store in the new version.
    public let destination: ManagedObjectContext
    /// The mapping from the old version to the new one.
    public let mapping: MappingModel
    /// The number of old objects after which `forEach` saves the new ones. This limits memory.
    public var batchSize = 1_000
    /// Values for the program's own use, for example to share data between policies.
    public var userInfo: [String: PropertyValue] = [:]

    let destinationStore: Store
    private let sourceStore: Store
    private let stage: MigrationStage
    private let report: @Sendable (StoreProgress) throws -> Void
    /// For each mapping: the new objects, by the key of the old object.
    private var associations: [String: [UInt64: [ManagedObjectID]]] = [:]
    private var problems: [HornbeamError] = []
    private static let problemsMax = 1_000

    init(
        _ source: Store, _ destination: Store, _ mapping: MappingModel, _ stage: MigrationStage,
        _ report: @escaping @Sendable (StoreProgress) throws -> Void
    ) throws {
        self.mapping = mapping
        self.stage = stage
        self.report = report
        sourceStore = source
        destinationStore = destination
        self.source = try ManagedObjectContext(over: source, classes: stage.from.classes)
        self.destination = try ManagedObjectContext(over: destination, classes: stage.to.classes)
        self.source.name = "migration source"
        self.destination.name = "migration destination"
        self.destination.role.givesPermanentIDs = true
        try self.source.setQueryGeneration(from: .current)
    }

    /// Saves the remaining objects, and throws the reported problems.
    func finish() throws {
        try throwProblems()
        try save()
    }

    func save() throws {
        guard destination.hasChanges else { return }
        do { try destination.save() } catch let error as HornbeamError {
            let broken: [HornbeamError.Code] = [.multipleErrors, .constraintConflict, .deleteDenied, .missingRequiredValue, .validation]
            guard broken.contains(error.code) || (1_550 ... 1_690).contains(error.code.rawValue) else { throw error }
            throw violationError(error.code == .multipleErrors ? error.details : [error])
        }
    }

    // MARK: Old objects

    /// Calls the body with each old object of an entity and its subentities, and saves the new objects in batches.
    ///
    /// Reports progress, and throws if the migration is cancelled. New objects must be valid at each of these saves.
    /// - Throws: The errors of the body; `migrationConstraintViolation` for new objects that violate a rule; `migrationCancelled`.
    public func forEach(_ entityName: String, where predicate: FetchPredicate? = nil, _ body: (ManagedObject) throws -> Void) throws {
        try forEach(FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate), body)
    }

    /// Calls the body with each old object of an entity and its subentities, and with the successor of the object.
    ///
    /// - Throws: The errors of `forEach` without successors; `objectNotFound` if an old object has no successor.
    public func forEach(
        _ entityName: String, where predicate: FetchPredicate? = nil, _ body: (_ old: ManagedObject, _ new: ManagedObject) throws -> Void
    ) throws {
        try forEach(entityName, where: predicate) { old in try body(old, requireSuccessor(of: old)) }
    }

    /// Calls the body with each old object of a class.
    public func forEach<Old: ManagedObject>(
        _ type: Old.Type, where predicate: FetchPredicate? = nil, _ body: (Old) throws -> Void
    ) throws {
        try forEach(FetchRequest<Old>(entityName: type.entityName, predicate: predicate), body)
    }

    /// Calls the body with each old object of a class, and with its successor of a class of the new version.
    ///
    /// - Throws: The errors of `forEach` without successors; `objectNotFound` if an old object has no successor of that class.
    public func forEach<Old: ManagedObject, New: ManagedObject>(
        _ type: Old.Type, to new: New.Type, where predicate: FetchPredicate? = nil, _ body: (_ old: Old, _ new: New) throws -> Void
    ) throws {
        try forEach(type, where: predicate) { old in
            guard let found = try requireSuccessor(of: old) as? New else { throw noSuccessor(of: old) }
            try body(old, found)
        }
    }

    func forEach<Old: ManagedObject>(_ request: FetchRequest<Old>, _ body: (Old) throws -> Void) throws {
        let total = try source.count(request)
        let part = "\(stage.label.map { "\($0): " } ?? "")\(request.entityName)"
        var done = 0
        while done < total {
            let objects = try source.fetch(request.offset(done).limit(batchSize))
            guard !objects.isEmpty else { break }
            for object in objects { try body(object) }
            done += objects.count
            try save()
            try report(StoreProgress(part: part, done: done, total: total))
        }
    }

    // MARK: Pairs

    /// The successor of an old object in the new version; nil if its entity was removed or the object was deleted.
    public func successor(of object: ManagedObject) throws -> ManagedObject? {
        try counterpart(of: object.objectID, in: destinationStore, destination)
    }

    /// The successor of an old object, as an object of a class; nil if there is none or it has another class.
    public func successor<New: ManagedObject>(of object: ManagedObject, as type: New.Type) throws -> New? {
        try successor(of: object) as? New
    }

    /// The predecessor of a new object in the old version; nil for an object that the stage inserted.
    public func predecessor(of object: ManagedObject) throws -> ManagedObject? {
        try counterpart(of: object.objectID, in: sourceStore, source)
    }

    private func counterpart(of id: ManagedObjectID, in store: Store, _ context: ManagedObjectContext) throws -> ManagedObject? {
        // An entity that became abstract has no objects.
        guard let entity = store.entity(of: id.origin), !entity.isAbstract else { return nil }
        do { return try context.existingObject(with: ManagedObjectID(origin: store.origin(of: entity), reference: id.reference)) } catch
            let error as HornbeamError where error.code == .objectNotFound
        {
            return nil
        }
    }

    func requireSuccessor(of object: ManagedObject) throws -> ManagedObject {
        guard let found = try successor(of: object) else { throw noSuccessor(of: object) }
        return found
    }

    private func noSuccessor(of object: ManagedObject) -> HornbeamError {
        HornbeamError(
            .objectNotFound,
            "An object of \(object.objectID.entityName) has no successor of the requested class in the new version. Insert one in the destination.",
            entity: object.objectID.entityName, objectIDs: [object.objectID])
    }

    /// Associates a new object with an old one, so that relationships can be set later. Each pair uses memory.
    public func associate(_ old: ManagedObject, with new: ManagedObject, by mappingName: String) {
        associations[mappingName, default: [:]][old.objectID.reference, default: []].append(new.objectID)
    }

    /// The new objects that are associated with an old one, by one mapping or by all of them. If there are none, the successor of the old object.
    ///
    /// - Throws: `unknownName` for an unknown mapping.
    public func destinationObjects(for old: ManagedObject, by mappingName: String? = nil) throws -> [ManagedObject] {
        if let mappingName, !mapping.entityMappings.contains(where: { $0.name == mappingName }) {
            throw HornbeamError(
                .unknownName,
                "There is no mapping “\(mappingName)”\(suggestion(for: mappingName, among: mapping.entityMappings.map(\.name))).")
        }
        let names = mappingName.map { [$0] } ?? associations.keys.sorted()
        let found = names.flatMap { associations[$0]?[old.objectID.reference] ?? [] }
        if !found.isEmpty { return try found.map { try destination.existingObject(with: $0) } }
        if let mappingName, !mapping.entityMappings.contains(where: { $0.name == mappingName && keepsObjects($0) }) { return [] }
        return try successor(of: old).map { [$0] } ?? []
    }

    // MARK: Problems

    /// The value of an old object, converted to another attribute type. If it cannot be converted, null, and a problem is reported.
    ///
    /// - Throws: `unknownKey`; `migrationConstraintViolation` after too many problems.
    public func converted(_ old: ManagedObject, _ key: String, to type: AttributeType) throws -> PropertyValue {
        let value = try old.value(forKey: key)
        if let converted = value.converted(to: type) { return converted }
        try reportProblem("The value of “\(key)” cannot be converted to \(type).", for: old, key, value: value)
        return .null
    }

    /// Records a problem of an object. The stage continues, and at its end throws all problems together.
    ///
    /// - Throws: `migrationConstraintViolation`, with all problems, at the 1,000th problem.
    public func reportProblem(_ text: String, for object: ManagedObject, _ key: String? = nil, value: PropertyValue? = nil) throws {
        problems.append(
            HornbeamError(
                value == nil ? .validation : .typeMismatch, text, entity: object.objectID.entityName, key: key, value: value,
                objectIDs: [object.objectID]))
        if problems.count >= Self.problemsMax { try throwProblems() }
    }

    func throwProblems() throws {
        if !problems.isEmpty { throw violationError(problems) }
    }

    private func violationError(_ found: [HornbeamError]) -> HornbeamError {
        let details = found.map(withOldIDs)
        return HornbeamError(
            .migrationConstraintViolation,
            "The stage \(stage) failed, because objects violate rules of the new version. The details list them. The store stays at "
                + "\(mapping.source.versionName).",
            objectIDs: details.flatMap(\.objectIDs), details: details)
    }

    /// The error with the IDs of the old version, with which the objects can be corrected. Objects that the stage inserted keep their IDs.
    private func withOldIDs(_ error: HornbeamError) -> HornbeamError {
        var error = error
        error.objectIDs = error.objectIDs.map { id in
            // The error that is reported matters more than one of this lookup.
            ((try? counterpart(of: id, in: sourceStore, source)) ?? nil)?.objectID ?? id
        }
        error.details = error.details.map(withOldIDs)
        return error
    }
}
