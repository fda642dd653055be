import Foundation
import Hornbeam

/// A ledger on the real disk that several processes change while some of them are killed and stopped.
final class LedgerTrial {
    private let seed: UInt64
    private let ledger: Ledger
    private var started = 0
    /// The entries that must exist, by acknowledged reports of all trials so far.
    private var expected: Set<String> = []
    private var history = LedgerHistory()
    private(set) var migrations = 0

    init(seed: UInt64, folder: URL) {
        self.seed = seed
        ledger = Ledger(folder: folder, hasTwoStores: seed % 4 == 2)
    }

    /// A ledger in a schema of a PostgreSQL server.
    init(seed: UInt64, folder: URL, schema: String) {
        self.seed = seed
        ledger = Ledger(folder: folder, hasTwoStores: false, schema: schema)
    }

    private func role(_ number: Int) -> LedgerChild.Role {
        switch number {
        case 1: .reopens
        case _ where ledger.schema != nil: .writes
        case 3: .reads
        case 4: .backsUp
        default: .writes
        }
    }

    func run(_ trial: ProcessesMode.Trial) throws -> ProcessesMode.Outcome {
        let group = ProcessGroup(of: ledger.schema == nil ? ledger.urls[0].path : nil) { [self] number in
            started += 1
            // With one store, some of the new processes have a newer model. A store takes a version that it never had for a newer one, so
            // it must have each version before there is the next.
            let canMigrate = started > 3 && !ledger.hasTwoStores && ledger.schema == nil
            if canMigrate, Int.random(in: 0..<6) == 0, ledger.isOfNewestVersion, (try? ledger.setVersion(ledger.version + 1)) != nil {
                migrations += 1
            }
            return LedgerChild.words(ledger, role(number), name: "\(started)")
        }
        defer { _ = group.end() }
        if ledger.schema == nil {
            try ledger.open().close()
        } else {
            // The processes that start now create or migrate the tables at the same time.
            try ledger.setVersion(ledger.version + 1)
            migrations += 1
        }
        try trial.disturb(group)
        let reports = group.end()
        try verify(reports)
        return .init(kills: group.killCount, stops: group.stopCount, holderStops: group.holderStopCount, commits: reports.count { !$0.hasPrefix("?") })
    }

    /// The store must have each entry whose insertion was acknowledged, unless its deletion was begun, and no other one, unless its insertion was begun.
    private func verify(_ reports: [String]) throws {
        var begun: Set<String> = []
        for report in reports where report != "." {
            let tag = Ledger.name(of: String(report.drop { "?+-".contains($0) }))
            if report.hasPrefix("?") { begun.insert(tag) } else { begun.remove(tag) }
            if report.hasPrefix("+") { expected.insert(tag) }
            if report.hasPrefix("-") || report.hasPrefix("?-") { expected.remove(tag) }
        }
        let container = try ledger.open(isShared: Bool.random())
        let (tags, entries) = try container.performAndWait {
            (
                try Ledger.verify($0, hasLines: ledger.hasTwoStores, isPinned: ledger.schema == nil),
                Set(try $0.fetchIDs(FetchRequest<ManagedObject>(entityName: "Entry")))
            )
        }
        try history.verify(container, entries: entries, mayBeRemoved: ledger.schema != nil)
        let lost = expected.subtracting(tags)
        guard lost.isEmpty else { throw Finding("\(lost.count) acknowledged entries are missing, such as \(lost.sorted()[0])") }
        let alien = tags.subtracting(expected).subtracting(begun)
        guard alien.isEmpty else { throw Finding("\(alien.count) entries exist that were deleted or never saved, such as \(alien.sorted()[0])") }
        expected = tags
        let coordinator = container.persistentStoreCoordinator
        for store in coordinator.persistentStores where ledger.schema == nil {
            let report = try coordinator.check(store)
            guard report.isSound else { throw Finding(report.description) }
        }
        try container.close()
    }
}
