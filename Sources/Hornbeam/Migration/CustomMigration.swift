public import HornbeamModel
internal import HornbeamStore

/// A stage at work: the old objects to read and the new ones to write, side by side (MIG-9).
///
/// Objects of both versions are of the classes of their schema, or are reached by name. Objects that survive are in the destination already,
/// with everything that could be taken over. Nobody else sees what is written until the stage is finished.
///
/// Lives as long as the closure that it is given to, and is used by its thread.
public final class CustomMigration {
    /// The old version, after `willMigrate`. It can only be read.
    public let source: ManagedObjectContext
    /// The new version.
    public let destination: ManagedObjectContext
    /// The mapping from the old version to the new one.
    public let mapping: MappingModel
    /// How many old objects `forEach` visits before it saves the new ones; memory is bounded by it.
    public var batchSize = 1_000
    /// Notes of the app, for policies.
    public var userInfo: [String: PropertyValue] = [:]

    let destinationStore: Store
    private let sourceStore: Store
    private let stage: MigrationStage
    private let report: @Sendable (StoreProgress) throws -> Void
    /// New objects by the key of the old one, for each mapping.
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
        self.source = try PersistentContainer.over(source, classes: stage.from.classes).newContext()
        self.destination = try PersistentContainer.over(destination, classes: stage.to.classes).newContext()
        self.source.name = "migration source"
        self.destination.name = "migration destination"
        self.destination.role.givesPermanentIDs = true
        try self.source.setQueryGeneration(from: .current)
    }

    /// Saves what is left, and throws what was reported.
    func finish() throws {
        try throwProblems()
        try save()
    }

    func save() throws {
        guard destination.hasChanges else { return }
        do { try destination.save() } catch let error as HornbeamError {
            let broken: [HornbeamError.Code] = [.multipleErrors, .constraintConflict, .deleteDenied, .missingRequiredValue, .validation]
            guard broken.contains(error.code) || (1_550 ... 1_690).contains(error.code.rawValue) else { throw error }
            throw rulesBroken(error.code == .multipleErrors ? error.details : [error])
        }
    }

    // MARK: Old objects

    /// Calls the body with each old object of an entity and its subentities, and saves the new objects from time to time.
    ///
    /// Reports progress and ends when the migration is cancelled. New objects must fit their model whenever they are saved.
    /// - Throws: What the body throws; `migrationConstraintViolation` for new objects that break a rule; `migrationCancelled`.
    public func forEach(_ entityName: String, where predicate: FetchPredicate? = nil, _ body: (ManagedObject) throws -> Void) throws {
        try forEach(FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate), body)
    }

    /// As above, with the new object that each old one has become.
    ///
    /// - Throws: As above; `objectNotFound` when an old object has no successor.
    public func forEach(
        _ entityName: String, where predicate: FetchPredicate? = nil, _ body: (_ old: ManagedObject, _ new: ManagedObject) throws -> Void
    ) throws {
        try forEach(entityName, where: predicate) { old in try body(old, requireSuccessor(of: old)) }
    }

    /// As above, for classes of the old version.
    public func forEach<Old: ManagedObject>(
        _ type: Old.Type, where predicate: FetchPredicate? = nil, _ body: (Old) throws -> Void
    ) throws {
        try forEach(FetchRequest<Old>(entityName: type.entityName, predicate: predicate), body)
    }

    /// As above, for classes of both versions.
    ///
    /// - Throws: As above; `objectNotFound` when an old object has no successor of that class.
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

    /// The object of the new version that an old one has become; nil when its entity was removed, or the object was deleted.
    public func successor(of object: ManagedObject) throws -> ManagedObject? {
        try counterpart(of: object.objectID, in: destinationStore, destination)
    }

    /// As above, of a known class; nil for an object of another class too.
    public func successor<New: ManagedObject>(of object: ManagedObject, as type: New.Type) throws -> New? {
        try successor(of: object) as? New
    }

    /// The object of the old version that a new one was; nil for one that the stage made.
    public func predecessor(of object: ManagedObject) throws -> ManagedObject? {
        try counterpart(of: object.objectID, in: sourceStore, source)
    }

    private func counterpart(of id: ManagedObjectID, in store: Store, _ context: ManagedObjectContext) throws -> ManagedObject? {
        guard let entity = store.entity(of: id.origin) else { return nil }
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
            "An object of \(object.objectID.entityName) has no successor of the kind asked for in the new version. Insert one in the destination.",
            entity: object.objectID.entityName, objectIDs: [object.objectID])
    }

    /// Remembers which new object was made of an old one, for relationships that are set later. Takes memory for each pair.
    public func associate(_ old: ManagedObject, with new: ManagedObject, by mappingName: String) {
        associations[mappingName, default: [:]][old.objectID.reference, default: []].append(new.objectID)
    }

    /// The new objects that were made of an old one, by one mapping or by all of them; its successor where nothing was associated.
    ///
    /// - Throws: `unknownName` for a name that no mapping has.
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

    /// A value of an old object as another type of attribute; null, and reported, when it cannot be converted.
    ///
    /// - Throws: `unknownKey`; `migrationConstraintViolation` when there are too many problems to go on.
    public func converted(_ old: ManagedObject, _ key: String, to type: AttributeType) throws -> PropertyValue {
        let value = try old.value(forKey: key)
        if let converted = value.converted(to: type) { return converted }
        try reportProblem("The value of “\(key)” cannot be converted to \(type).", for: old, key, value: value)
        return .null
    }

    /// Notes what is wrong with an object and goes on, so that all problems are reported together; the stage fails at its end.
    ///
    /// - Throws: `migrationConstraintViolation` with all problems when there are 1,000.
    public func reportProblem(_ text: String, for object: ManagedObject, _ key: String? = nil, value: PropertyValue? = nil) throws {
        problems.append(
            HornbeamError(
                value == nil ? .validation : .typeMismatch, text, entity: object.objectID.entityName, key: key, value: value,
                objectIDs: [object.objectID]))
        if problems.count >= Self.problemsMax { try throwProblems() }
    }

    func throwProblems() throws {
        if !problems.isEmpty { throw rulesBroken(problems) }
    }

    private func rulesBroken(_ details: [HornbeamError]) -> HornbeamError {
        HornbeamError(
            .migrationConstraintViolation,
            "The stage \(stage) failed, since objects do not fit the new version: each of them is among the details. The store is unchanged.",
            objectIDs: details.flatMap(\.objectIDs), details: details)
    }
}
