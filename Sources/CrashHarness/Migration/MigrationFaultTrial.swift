import Hornbeam
import HornbeamEngine
import HornbeamStore

/// One call of a migration fails, or every call from it on: the store has the complete old or new version, and the next
/// opening migrates it.
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

    /// Every kind of failure at every call of a seed's migration, or at every n-th one, once and permanently.
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

    /// False when the migration has no further such call.
    private func perform(_ run: Run) throws -> Bool {
        let isAskedFor = run.includes(name)
        if isAskedFor { try run.trying(name, as: "failing calls of migrations") }
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
        guard isAskedFor else { return true }
        if let failure { try expectName(failure) }
        faults.removeRules()
        // Checks the store in the process that continues and in the next process.
        try trial.judge(on: faults, mustBeNew: isOpen)
        return true
    }

    private func expectName(_ error: HornbeamError) throws {
        let names: Set<HornbeamError.Code> = [.full, .inputOutput, .durabilityLost, .openFailed]
        guard names.contains(error.code), !error.message.isEmpty else {
            throw Finding("a failing call of a migration gives another error: \(error)")
        }
        if kind.name != "EIO", ![.full, .durabilityLost].contains(error.code) { throw Finding("a full disk gives another error: \(error)") }
    }
}
