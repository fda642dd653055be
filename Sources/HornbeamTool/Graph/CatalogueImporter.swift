import Hornbeam

/// Brings a catalogue into a store: first the packages, then, when all are known, their dependencies.
///
/// Memory is bounded by a few batches of objects and the list of package names; the catalogue is read twice rather
/// than kept. Packages that the store holds already are left as they are.
enum CatalogueImporter {
    /// Objects per save, roughly.
    static let batchSize = 5000
    /// Contexts that import dependencies at once: one saves while the other makes its objects.
    static let workerCount = 2

    /// - Parameter isSilent: whether to show no progress.
    static func run(
        _ catalogue: Catalogue, into container: PersistentContainer, isSilent: Bool = false
    ) async throws -> ImportReceipt {
        let clock = ContinuousClock()
        let start = clock.now
        let packages = try await container.performBackgroundTask { context in
            try PackageImport(catalogue, into: context, isSilent: isSilent).run()
        }
        let source = DependencySource(catalogue, packages: packages.directory, isSilent: isSilent)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { try await container.performBackgroundTask { try DependencyImport.run(from: source, into: $0) } }
            }
            try await group.waitForAll()
        }
        var receipt = packages.receipt
        (receipt.dependencies, receipt.resolvedDependencies) = source.finish()
        receipt.elapsed = clock.now - start
        return receipt
    }
}
