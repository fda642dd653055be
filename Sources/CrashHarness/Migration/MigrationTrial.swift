import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// A migration on a simulated disk that crashes at every operation. The store must then be completely in the old or in the new version.
struct MigrationTrial: Sendable {
    let before: RandomVersion
    let next: NextVersion
    var after: RandomVersion { next.version }
    /// The disk with the store of the old version.
    let disk: SimulatedDisk

    init(seed: UInt64) throws {
        disk = SimulatedDisk()
        let history = try MigrationHistory(seed: seed, disk)
        for _ in 0 ..< seed / 16 % 3 { try history.step() }
        before = history.version
        next = try NextVersion(after: before, stage: seed / 8 % 4 == 3 ? seed : nil)
    }

    /// Opens the store with the new version.
    func open(_ fileSystem: any FileSystem) throws -> PersistentContainer {
        try MigrationHistory.open(try after.model(), fileSystem, plan: try next.plan(from: before))
    }

    /// Migrates, and returns the disk with its recorded operations.
    func perform() throws -> SimulatedDisk {
        let disk = disk.copy()
        disk.mark(.submitted(1))
        try open(disk).close()
        disk.mark(.acknowledged(1))
        return disk
    }

    /// Opens the store after a crash, first with its stored model, then with the new version. Judges the content each time.
    func judge(_ image: CrashEnumerator.Image) throws {
        try judge(on: image.disk, mustBeNew: image.acknowledged > 0) { image.disk.mark(.recovered) }
    }

    /// - Parameter recovered: Called when the store was opened for writing for the first time.
    func judge(on fileSystem: any FileSystem, mustBeNew: Bool, recovered: () -> Void = {}) throws {
        var options = Store.Options()
        options.fileSystem = fileSystem
        let model = try Store.storedModel(of: .directory(MigrationHistory.path), options: options)
        let isNew = model.definition == (try after.model().definition)
        guard isNew || !mustBeNew else { throw Finding("the migration returned, and the store has the old version") }
        let old = try MigrationHistory.open(model, fileSystem)
        recovered()
        try expect(old, isNew ? after : before)
        try expect(open(fileSystem), after)
    }

    private func expect(_ container: PersistentContainer, _ version: RandomVersion) throws {
        let found = try container.performAndWait { try PlainObjects.read($0, container.managedObjectModel) }
        if let difference = found.difference(to: version.plain) {
            throw Finding("after \(version.edits.joined(separator: "; ")): \(difference)")
        }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        try container.close()
    }
}
