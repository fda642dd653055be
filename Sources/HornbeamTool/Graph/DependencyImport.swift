import Hornbeam

/// The second part of an import: the dependencies of the stored packages.
enum DependencyImport {
    /// Saves all batches of the source. Several contexts may import concurrently.
    ///
    /// - Parameter context: A context that no other task uses; it is reset after each batch.
    static func run(from source: DependencySource, into context: ManagedObjectContext) throws {
        while let batch = try source.next() {
            for pending in batch { insert(pending, into: context) }
            try context.save()
            context.reset()
            source.recordSaved(batch.count)
        }
    }

    private static func insert(_ pending: PendingDependency, into context: ManagedObjectContext) {
        let alternative = pending.content
        let dependency = Dependency(context: context)
        dependency.kind = pending.kind.rawValue
        dependency.clause = pending.clause
        dependency.alternative = pending.alternative
        dependency.targetName = alternative.name
        dependency.relation = alternative.constraint?.relation.rawValue
        dependency.version = alternative.constraint?.version
        dependency.restriction = alternative.restriction
        dependency.package = context.object(Package.self, with: pending.package)
        if let target = pending.target { dependency.target = context.object(Package.self, with: target) }
    }
}

/// A dependency that is not inserted yet.
struct PendingDependency: Sendable {
    let package: ManagedObjectID
    let kind: DependencyKind
    /// The index of the clause within the field, and of the alternative within the clause.
    let clause: Int
    let alternative: Int
    let content: DependencyAlternative
    /// The package that satisfies it.
    let target: ManagedObjectID?
}
