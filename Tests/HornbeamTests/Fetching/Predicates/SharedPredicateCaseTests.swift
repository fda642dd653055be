import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// The shared cases of predicates, evaluated by the whole library: saved and fetched from the store, and
/// fetched before they are saved.
@Suite(.enabled(if: CaseFile.areAvailable), .serialized)
struct SharedPredicateCaseTests {
    private final class Graph {
        let fixture: Fixture
        let stack: Stack
        let context: ManagedObjectContext
        var objects: [String: ManagedObject] = [:]
        var names: [ManagedObjectID: String] = [:]

        init(_ name: String, isSaved: Bool) throws {
            fixture = try Fixture(name)
            stack = try Stack(.inMemory, fixture.model)
            context = stack.newContext()
            for object in fixture.objects { objects[object.id] = try context.insert(entityNamed: object.entity.name) }
            for object in fixture.objects { try fill(object) }
            if isSaved { try context.save() }
            for (id, object) in objects { names[object.objectID] = id }
        }

        private func fill(_ object: FixtureObject) throws {
            let managed = objects[object.id]!
            for (key, value) in object.values {
                guard object.entity.attributesByName[key] != nil else { continue }
                try managed.setValue(value, forKey: key)
            }
            for (key, targets) in object.targets {
                let ids = targets.map { objects[$0.id]!.objectID }
                let property = try object.entity.property(named: key)
                try managed.setValue(property.isToMany ? .array(ids.map { .objectID($0) }) : .objectID(ids[0]), forKey: key)
            }
        }

        func reference(_ id: String) -> PropertyValue { objects[id].map { .objectID($0.objectID) } ?? .null }
    }

    /// nil when the fetch has the stated result.
    private static func outcome(_ entry: CaseValue, _ graphs: inout [String: Graph], isSaved: Bool) throws -> String? {
        guard let name = entry["objects"]?["fixture"]?.text else { return nil }
        let graph = try graphs[name] ?? Graph(name, isSaved: isSaved)
        graphs[name] = graph
        var request = FetchRequest<ManagedObject>(entityName: entry["objects"]?["entity"]?.text ?? "")
        request.predicate = try entry.predicate(graph.reference)
        let context = isSaved ? graph.stack.newContext() : graph.context
        let found = try context.fetch(request).map { graph.names[$0.objectID] ?? "?" }
        if try context.count(request) != found.count { return "the count differs" }
        if let count = entry["expectCount"]?.number, Double(found.count) != count { return "fetches \(found)" }
        guard let wanted = entry["expect"]?.list?.compactMap(\.text) else { return nil }
        return Set(wanted) == Set(found) ? nil : "fetches \(found), not \(wanted)"
    }

    @Test(arguments: [true, false]) func fetchesAnswerAsStated(isSaved: Bool) throws {
        var graphs: [String: Graph] = [:]
        let failures = try CaseFile("evaluate.jsonl").run(in: isSaved ? "the store" : "a context") { try Self.outcome($0, &graphs, isSaved: isSaved) }
        #expect(failures == [])
    }

    @Test(arguments: [true, false]) func refusalsHoldForFetches(isSaved: Bool) throws {
        var graphs: [String: Graph] = [:]
        let failures = try CaseFile("errors.jsonl").run(in: isSaved ? "the store" : "a context") { entry in
            do {
                _ = try Self.outcome(entry, &graphs, isSaved: isSaved)
                return "not refused"
            } catch is HornbeamError {
                return nil
            }
        }
        #expect(failures == [])
    }
}
