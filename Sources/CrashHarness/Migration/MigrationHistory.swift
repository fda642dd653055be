import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// A store that is migrated through a chain of random versions. After each migration, its content must equal the result of a simple migration
/// of plain objects.
final class MigrationHistory {
    /// One state of the store: a version of the model and its objects.
    struct State {
        let definition: ModelDefinition
        let plain: PlainObjects
    }

    static let path = "versions.hornbeam"
    private let path: String
    private let fileSystem: any FileSystem
    private(set) var version: RandomVersion
    private var random: SimulationRandom
    private(set) var migrations = 0
    /// All states of the store so far, the newest last.
    private(set) var states: [State] = []

    /// - Parameter fills: How often `change` inserts and changes objects in the first version.
    init(seed: UInt64, _ fileSystem: any FileSystem = MemoryFileSystem(), path: String = MigrationHistory.path, fills: Int = 1) throws {
        self.path = path
        self.fileSystem = fileSystem
        version = RandomVersion(seed: seed)
        random = SimulationRandom(seed: seed ^ 0x5EED)
        states = [State(definition: version.definition, plain: PlainObjects())]
        for _ in 0 ..< fills { try change() }
    }

    /// - Parameter plan: The plan of a stage with code that leads to the model.
    static func open(
        _ model: ManagedObjectModel, _ fileSystem: any FileSystem, path: String = MigrationHistory.path, plan: MigrationPlan? = nil
    ) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = fileSystem
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.engine.pageSize = 4096
        options.engine.checkpointLogBytes = 60_000
        options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
        var migration = MigrationOptions()
        migration.batchSize = 16
        if let plan {
            migration.take(plan.versions)
            migration.stages = plan.steps
        }
        options.migration = migration
        return try PersistentContainer.over(try Store.open(.directory(path), model: model, options: options))
    }

    /// Migrates to the next version, every fourth time by a stage with code, compares the content, and changes objects.
    func step() throws {
        let next = try NextVersion(after: version, stage: migrations % 4 == 3 ? UInt64(migrations) : nil)
        let plan = try next.plan(from: version)
        version = next.version
        do {
            try verify(Self.open(try version.model(), fileSystem, path: path, plan: plan), version)
            migrations += 1
            states.append(State(definition: version.definition, plain: version.plain))
            try change()
        } catch let finding as Finding {
            throw finding
        } catch {
            throw Finding("after \(version.edits.joined(separator: "; ")): \(error)")
        }
    }

    /// Compares the content of a container with the objects of a version, checks the store and closes it.
    private func verify(_ container: PersistentContainer, _ version: RandomVersion) throws {
        let found = try container.performAndWait { try PlainObjects.read($0, container.managedObjectModel) }
        if let difference = found.difference(to: version.plain) {
            throw Finding("after \(version.edits.joined(separator: "; ")): \(difference)")
        }
        try container.performAndWait { try ask($0, container.managedObjectModel, version) }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding("after \(version.edits.joined(separator: "; ")): \(report)") }
        try container.close()
    }

    /// Counts the objects with a value of each attribute. This uses an index, or scans leaves of several layouts.
    private func ask(_ context: ManagedObjectContext, _ model: ManagedObjectModel, _ version: RandomVersion) throws {
        for entity in model.entities {
            let family = version.family(entity.name)
            let objects = version.plain.objects.values.filter { family.contains($0.entity) }
            for property in entity.attributes {
                guard let value = objects.randomElement(using: &random)?.values[property.name] else { continue }
                let predicate = try FetchPredicate(format: "%K == %@", property.name, value)
                let found = try context.count(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate))
                let expected = objects.count { $0.values[property.name] == value }
                guard found == expected else {
                    throw Finding(
                        "after \(version.edits.joined(separator: "; ")): \(found) objects have \(value) as \(entity.name).\(property.name), and "
                            + "\(expected) should")
                }
            }
        }
    }

    // MARK: Random objects

    private func change() throws {
        let model = try version.model()
        let container = try Self.open(model, fileSystem, path: path)
        let plain = try container.performAndWait { context in
            for _ in 0 ..< 12 {
                guard let entity = model.entities.randomElement(using: &random) else { continue }
                try fill(try context.insert(entityNamed: entity.name), context)
            }
            for object in try objects(context, model) where Int.random(in: 0 ..< 4, using: &random) == 0 { try fill(object, context) }
            try context.save()
            states.append(State(definition: version.definition, plain: try PlainObjects.read(context, model)))
            for object in try objects(context, model) where Int.random(in: 0 ..< 20, using: &random) == 0 { context.delete(object) }
            try context.save()
            context.reset()
            return try PlainObjects.read(context, model)
        }
        version.plain = plain
        states.append(State(definition: version.definition, plain: plain))
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding("after random changes: \(report)") }
        try container.close()
    }

    private func objects(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> [ManagedObject] {
        try model.entities.filter { $0.superentity == nil }.flatMap { try Array(context.fetch(FetchRequest<ManagedObject>(entityName: $0.name))) }
    }

    private func fill(_ object: ManagedObject, _ context: ManagedObjectContext) throws {
        for property in object.entity.properties where Bool.random(using: &random) {
            if property.isAttribute { try fill(object, property) } else { try link(object, property, context) }
        }
    }

    private func fill(_ object: ManagedObject, _ property: PropertyDescription) throws {
        let isUnique = object.entity.uniquenessConstraints.contains { $0.properties.contains(property) }
        if isUnique, property.isOptional { return try object.setValue(.null, forKey: property.name) }
        if isUnique { return }
        let number = Int64.random(in: 0 ..< 100, using: &random)
        let value: PropertyValue =
            switch property.attributeType {
            case .string: .string("text \(number)")
            case .boolean: .bool(number % 2 == 0)
            case .double: .double(Double(number) / 4)
            default: .int(number)
            }
        try object.setValue(property.isOptional && number % 5 == 0 ? .null : value, forKey: property.name)
    }

    private func link(_ object: ManagedObject, _ property: PropertyDescription, _ context: ManagedObjectContext) throws {
        guard let destination = property.destinationEntity else { return }
        let targets = try Array(context.fetch(FetchRequest<ManagedObject>(entityName: destination.name)))
        guard let target = targets.randomElement(using: &random) else { return }
        if property.isToOne { return try object.setValue(target, forKey: property.name) }
        var members = try Array(object.objects(forKey: property.name))
        if !members.contains(where: { $0 === target }) { members.append(target) }
        let ids = members.map { PropertyValue.objectID($0.objectID) }
        try object.setValue(property.isOrdered ? .array(ids) : .set(Set(ids)), forKey: property.name)
    }
}
