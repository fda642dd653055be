#if Postgres
import Foundation
import Hornbeam
import HornbeamModel
import HornbeamPostgres
import Testing

/// Random requests to stores of random models have the same results in PostgreSQL as in a store in memory.
@Suite(.enabled(if: PostgresServer.isThere)) struct RandomModelTests {
    private static let seeds = (ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_SEEDS"].flatMap { UInt64($0) }) ?? 4

    @Test("requests to random models have the results of the engine, also with references to deleted objects", arguments: 1 ... seeds)
    func answersAreThoseOfTheEngine(seed: UInt64) throws {
        var random = try RandomModel(seed: seed)
        let schema = PostgresServer.freshSchema()
        let server = try PostgresServer.container(schema, random.model)
        let memory = try PostgresServer.container(.inMemory(), random.model)
        let objects = random.objects(24)
        let (ids, wantedIDs) = (try insert(objects, into: server), try insert(objects, into: memory))
        var (exactCount, count) = (0, 0)
        for round in 0 ..< 3 {
            // A container that has read nothing yet.
            let container = try PostgresServer.container(schema, random.model)
            let (reader, expected) = (container.newContext(), memory.newContext())
            for _ in 0 ..< 40 {
                let (condition, request) = random.request()
                let text = "seed \(seed), round \(round): \(request.entityName) \(condition) \(request.sortDescriptors) \(request.fetchOffset) \(request.fetchLimit)"
                let own = try self.request(request, condition, ids)
                let wanted = try self.request(request, condition, wantedIDs)
                #expect(try numbers(reader, own) == numbers(expected, wanted), "\(text)")
                #expect(try reader.count(own) == expected.count(wanted), "count of \(text)")
                count += 1
                if try reader.explain(own).contains("  by the server") { exactCount += 1 }
            }
            for entity in random.model.entities where !entity.isAbstract {
                #expect(try relationships(of: entity, reader, ids) == relationships(of: entity, expected, wantedIDs), "seed \(seed), round \(round): \(entity.name)")
            }
            try container.close()
            let edits = random.edits(4)
            try apply(edits, to: server.newContext(), ids)
            try apply(edits, to: memory.newContext(), wantedIDs)
        }
        #expect(exactCount * 2 > count, "seed \(seed): the server decides \(exactCount) of \(count) requests")
        try server.close()
    }

    private func request(
        _ request: FetchRequest<ManagedObject>, _ condition: RandomCondition, _ ids: [ManagedObjectID]
    ) throws -> FetchRequest<ManagedObject> {
        var request = request
        let arguments = condition.arguments.map { argument -> (any PredicateArgument)? in
            switch argument {
            case .value(let value): return value
            case .list(let values): return values
            case .object(let number): return ids[number]
            }
        }
        request.predicate = try FetchPredicate(format: condition.format, arguments: arguments)
        return request
    }

    private func numbers(_ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>) throws -> [PropertyValue] {
        try context.fetch(request).map { try $0.value(forKey: "id") }
    }

    // MARK: Objects

    private func insert(_ objects: [RandomObject], into container: PersistentContainer) throws -> [ManagedObjectID] {
        let context = container.newContext()
        let made = try objects.map { try context.make($0.entity.name, $0.values) }
        for (object, source) in zip(objects, made) { try link(source, object) { made[$0] } }
        try context.save()
        return made.map(\.objectID)
    }

    private func apply(
        _ edits: (changed: [(number: Int, object: RandomObject)], deleted: [Int]), to context: ManagedObjectContext, _ ids: [ManagedObjectID]
    ) throws {
        func object(_ number: Int) throws -> ManagedObject? {
            let request = FetchRequest<ManagedObject>(entityName: ids[number].entityName, predicate: try FetchPredicate(format: "id == %@", number))
            return try context.fetch(request).first
        }
        for (number, changes) in edits.changed {
            guard let source = try object(number) else { continue }
            for (key, value) in changes.values { try source.setValue(value, forKey: key) }
            try link(source, changes) { try object($0) }
        }
        for number in edits.deleted { if let object = try object(number) { context.delete(object) } }
        try context.save()
    }

    /// Adds the members and sets the destinations of an object.
    private func link(_ source: ManagedObject, _ object: RandomObject, _ target: (Int) throws -> ManagedObject?) throws {
        for (name, numbers) in object.links {
            let targets = try numbers.compactMap { try target($0) }
            if source.entity.relationshipsByName[name]?.isToMany == true {
                try source.changeObjects(forKey: name) { $0.append(contentsOf: targets) }
            } else if let first = targets.first {
                try source.setValue(first, forKey: name)
            }
        }
    }

    /// The numbers of the related objects of each object; those of unordered relationships sorted.
    private func relationships(
        of entity: EntityDescription, _ context: ManagedObjectContext, _ ids: [ManagedObjectID]
    ) throws -> [String: [Int]] {
        let numbers = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
        var request = FetchRequest<ManagedObject>(entityName: entity.name, sortedBy: [FetchSort("id")])
        request.includesSubentities = false
        var found: [String: [Int]] = [:]
        for object in try context.fetch(request) {
            for relationship in entity.relationships {
                let related = try object.objectIDs(forRelationshipNamed: relationship.name).map { numbers[$0] ?? -1 }
                found["\(try object.value(forKey: "id")) \(relationship.name)"] = relationship.isOrdered ? related : related.sorted()
            }
        }
        return found
    }
}
#endif
