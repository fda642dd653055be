import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// One call of a migration fails, or all calls from it on. The store must then be completely in the old or in the new version, and the next
/// opening must migrate it.
struct MigrationFaultTrial {
    private static let kinds: [(name: String, effect: FaultRule.Effect, calls: Set<FileSystemCall>)] = [
        ("ENOSPC", .fail(.full), FileSystemCall.changing),
        ("EIO", .fail(.inputOutput), Set(FileSystemCall.allCases).subtracting([.close])),
        ("short write", .short, [.write]),
    ]

    private let trial: MigrationTrial
    private let kind: (name: String, effect: FaultRule.Effect, calls: Set<FileSystemCall>)
    private let index: Int
    private let isSticky: Bool

    private var name: String { "\(kind.name) \(isSticky ? "from" : "at") call \(index) of a migration" }

    /// Runs a trial for every kind of failure at every call of a seed's migration, or at every n-th one. Each trial runs once with a single failure and
    /// once with a permanent one.
    static func all(seed: UInt64, every step: Int = 1, _ run: Run) throws {
        let trial = try MigrationTrial(seed: seed)
        for kind in kinds {
            for isSticky in [false, true] {
                var index = 0
                while try MigrationFaultTrial(trial: trial, kind: kind, index: index, isSticky: isSticky).perform(run) { index += step }
            }
        }
        run.add(trial.next.stage == nil ? "migrations failed at every call" : "stages with code failed at every call")
    }

    /// Returns false if the migration has no call with this index.
    private func perform(_ run: Run) throws -> Bool {
        let isSelected = run.includes(name)
        if isSelected { try run.beginCase(name, as: "failing calls of migrations") }
        let faults = FaultInjector(trial.disk.copy())
        faults.add(FaultRule(kind.effect, calls: kind.calls, after: index, isSticky: isSticky))
        var failure: HornbeamError?
        var isOpen = false
        do {
            let container = try trial.open(faults)
            isOpen = true
            try container.close()
        } catch let error as HornbeamError { failure = error }
        guard faults.firedCount > 0 else { return false }
        guard isSelected else { return true }
        if let failure { try expectName(failure) }
        faults.removeRules()
        // Checks the store in the process that continues, and in a process after it.
        try trial.judge(on: faults, mustBeNew: isOpen)
        return true
    }

    private func expectName(_ error: HornbeamError) throws {
        let names: Set<HornbeamError.Code> = [.full, .inputOutput, .durabilityLost, .openFailed]
        guard names.contains(error.code), !error.message.isEmpty else {
            throw Finding("a failing call of a migration throws an unexpected error: \(error)")
        }
        if kind.name != "EIO", ![.full, .durabilityLost].contains(error.code) { throw Finding("a full disk has an unexpected error: \(error)") }
    }
}
