import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// A migrated store that is small enough for a test of every bit.
struct MigratedSmallStore: DamagedStore {
    let disk: SimulatedDisk
    let sources: DamageSources
    /// The states of the store after each commit, the newest last.
    private let states: [MigrationHistory.State]
    private let otherStates: [MigrationHistory.State]
    /// The index in `states` of the last state in the old version.
    private let lastOld: Int
    /// The plan to the newest version, if it has a stage with code.
    private let plan: MigrationPlan?

    /// True when a stage with code migrated the store.
    var hasStage: Bool { plan != nil }

    init(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let history = try MigrationHistory(seed: seed, disk)
        var states = history.states
        lastOld = states.count - 1
        let earlier = disk.files
        let step = try NextVersion(after: history.version, stage: seed / 4 % 2 == 1 ? seed : nil)
        let next = step.version
        plan = try step.plan(from: history.version)
        let container = try MigrationHistory.open(try next.model(), disk, plan: plan)
        // Some stores are closed, the others are like those after a crash.
        if seed % 3 == 0 { try container.close() }
        states.append(MigrationHistory.State(definition: next.definition, plain: next.plain))
        self.disk = disk.copy()
        self.states = states
        let other = SimulatedDisk()
        otherStates = try MigrationHistory(seed: seed &+ 0x5EED, other).states
        sources = DamageSources(files: disk.files, earlier: earlier, other: other.files)
    }

    /// Opens the store with its stored model. A store that has the last state of the old version is migrated again.
    func judge(_ damaged: SimulatedDisk) throws -> DamageOutcome {
        do {
            var options = Store.Options()
            options.fileSystem = damaged
            let model = try Store.storedModel(of: .directory(MigrationHistory.path), options: options)
            let found = try read(model, damaged)
            if let place = states.lastIndex(where: { $0.definition == model.definition && $0.plain == found }) {
                if place == lastOld { try migrateAgain(damaged) }
                return place == states.count - 1 ? .right : .older
            }
            if otherStates.contains(where: { $0.definition == model.definition && $0.plain == found }) { return .other }
            throw Finding("wrong content: it is not a state of the store")
        } catch let error as HornbeamError {
            guard [.damaged, .logDamaged, .notAStore, .newerFormat].contains(error.code) else {
                throw Finding("an error that does not name damage: \(error)")
            }
            return .error(Self.name(error.code))
        }
    }

    private func read(_ model: ManagedObjectModel, _ disk: SimulatedDisk, by plan: MigrationPlan? = nil) throws -> PlainObjects {
        let container = try MigrationHistory.open(model, disk, plan: plan)
        let found = try container.performAndWait { try PlainObjects.read($0, container.managedObjectModel) }
        try container.close()
        return found
    }

    private func migrateAgain(_ disk: SimulatedDisk) throws {
        let newest = states[states.count - 1]
        guard try read(try ManagedObjectModel(newest.definition), disk, by: plan) == newest.plain else {
            throw Finding("a second migration of the old version had another result")
        }
    }

    private static func name(_ code: HornbeamError.Code) -> String {
        switch code {
        case .damaged: "damaged"
        case .logDamaged: "logDamaged"
        case .notAStore: "notAStore"
        default: "newerFormat"
        }
    }
}
