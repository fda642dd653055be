import Hornbeam

/// A package with its dependencies as a relationship.
@Entity final class Module: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "requiredBy") var requires: ManagedSet<Module>
    @Relationship(inverse: "requires") var requiredBy: ManagedSet<Module>
}

/// The graph of packages as objects; the store follows the relationship.
final class GraphWalk: WalkContestant {
    static let contestant = Contestant.hornbeam

    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init(path: String) throws {
        container = try .open(ManagedObjectModel(for: [Module.self]), [Module.self], at: path)
        context = container.newContext()
    }

    func load(_ graph: PackageGraph) throws {
        let context = container.newContext()
        let modules = graph.names.map { name in
            let module = Module(context: context)
            module.name = name
            return module
        }
        try context.save()
        for (place, targets) in graph.requirements.enumerated() {
            for target in targets { modules[place].requires.insert(modules[target]) }
        }
        try context.save()
    }

    func dependents(of name: String) throws -> UInt64 {
        UInt64(try context.closure(of: FetchRequest<Module>().where(Module.name == name), over: "requiredBy").count)
    }

    func dependents(of name: String, depth: Int) throws -> UInt64 {
        try context.closure(of: FetchRequest<Module>().where(Module.name == name), over: "requiredBy", depth: depth)
            .reduce(0) { $0 &+ UInt64($1.depth) }
    }

    func close() throws { try container.close() }
}
