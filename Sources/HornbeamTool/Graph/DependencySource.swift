import Hornbeam
import HornbeamThreads

/// Reads the catalogue a second time and returns its dependencies in batches, to any number of threads.
final class DependencySource: Sendable {
    private struct State {
        let reader: CatalogueReader
        var packages: PackageDirectory
        var progress: ProgressLine
        var saved = 0
        var resolved = 0
    }

    /// Guards reader, directory and progress: one thread reads at a time.
    private let state: Guarded<State>

    init(_ catalogue: Catalogue, packages: PackageDirectory, isSilent: Bool) {
        state = Guarded(
            State(
                reader: catalogue.reader(), packages: packages,
                progress: ProgressLine("importing dependencies", isSilent: isSilent)))
    }

    /// The dependencies of the next packages; nil at the end.
    func next() throws -> [PendingDependency]? {
        try state.withLock { state in
            var batch: [PendingDependency] = []
            batch.reserveCapacity(CatalogueImporter.batchSize + 100)
            while batch.count < CatalogueImporter.batchSize, let record = try state.reader.next() {
                guard let id = state.packages.claimPending(record) else { continue }
                Self.append(record, id, state.packages, to: &batch)
            }
            state.resolved += batch.count { $0.target != nil }
            return batch.isEmpty ? nil : batch
        }
    }

    /// Call it after each saved batch.
    func recordSaved(_ count: Int) {
        state.withLock { state in
            state.saved += count
            state.progress.update(state.reader.fractionRead, Figures.count(state.saved, "dependency", "dependencies"))
        }
    }

    /// Ends the progress. Returns the number of saved dependencies and of those with a target.
    func finish() -> (saved: Int, resolved: Int) {
        state.withLock { state in
            let time = Figures.duration(state.progress.elapsed)
            state.progress.finish("\(Figures.count(state.saved, "dependency", "dependencies")) in \(time)")
            return (state.saved, state.resolved)
        }
    }

    private static func append(
        _ record: PackageRecord, _ package: ManagedObjectID, _ directory: PackageDirectory, to batch: inout [PendingDependency]
    ) {
        for field in record.dependencies {
            for (clause, content) in field.clauses.enumerated() {
                for (place, alternative) in content.alternatives.enumerated() {
                    batch.append(
                        PendingDependency(
                            package: package, kind: field.kind, clause: clause, alternative: place, content: alternative,
                            target: directory.target(of: alternative, for: record.architecture)))
                }
            }
        }
    }
}
