import Hornbeam

/// Imports a catalogue into a store: first all packages, then their dependencies.
///
/// Memory is limited to a few batches of objects and the list of package names; therefore the catalogue is read
/// twice. Packages that already exist in the store are skipped.
enum CatalogueImporter {
    /// The approximate number of objects per save.
    static let batchSize = 5000
    /// The number of contexts that import dependencies concurrently: one saves while the other creates objects.
    static let workerCount = 2

    /// - Parameter isSilent: True shows no progress.
    static func run(
        _ catalogue: Catalogue, into container: PersistentContainer, isSilent: Bool = false
    ) async throws -> ImportResult {
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
        var importResult = packages.importResult
        (importResult.dependencies, importResult.resolvedDependencies) = source.finish()
        importResult.elapsed = clock.now - start
        return importResult
    }
}
