import Foundation
import Hornbeam
import HornbeamStore

/// Kills a process during its saves, repeatedly, and verifies the store.
struct DurabilityDemo {
    /// The tool's own executable, which the child runs.
    let executable: String
    let storePath: String
    /// The number of kills.
    var kills = 3
    /// The time until the kill, in milliseconds from the first report.
    var delays = 300...1200

    struct Outcome: Equatable {
        var kills = 0
        var acknowledged = 0
        var syncs = 0
        /// Durable saves without a report, because the process was killed before it.
        var unreported = 0
        var reopening = Duration.zero
    }

    /// Throws `CommandFailure` when a store is not in the expected state.
    func run() throws -> Outcome {
        var outcome = Outcome()
        for _ in 0..<kills {
            let before = try newestSave()
            let last = try runAndKillChild()
            let serial = last?.serial ?? before
            outcome.kills += 1
            outcome.acknowledged += serial - before
            outcome.syncs += last?.syncs ?? 0
            outcome.unreported += try verify(acknowledged: serial, &outcome)
        }
        return outcome
    }

    private func newestSave() throws -> Int {
        let container = try CatalogueModel.open(at: storePath)
        let newest = try container.performAndWait { try DurabilityTrial.newestSave(in: $0) }
        try container.close()
        return newest
    }

    /// The last report of a killed child; nil when there was no save.
    private func runAndKillChild() throws -> DurabilityChild.Report? {
        let child = Process()
        let reports = Pipe()
        child.executableURL = URL(filePath: executable)
        child.arguments = [Command.durabilityChild.name, storePath]
        child.standardOutput = reports
        try child.run()
        var text = Data()
        while true {
            let data = reports.fileHandleForReading.availableData
            if data.isEmpty { break }
            if text.isEmpty { kill(child, after: .milliseconds(Int.random(in: delays))) }
            text.append(data)
        }
        child.waitUntilExit()
        guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
            throw CommandFailure("The saving process ended by itself with status \(child.terminationStatus); see its message above.")
        }
        // An incomplete line is not a report.
        let whole = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return whole.last.flatMap(DurabilityChild.Report.init(line:))
    }

    private func kill(_ child: Process, after delay: DispatchTimeInterval) {
        let identifier = child.processIdentifier
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { Foundation.kill(identifier, SIGKILL) }
    }

    /// The number of durable saves after the acknowledged ones, 0 or 1.
    private func verify(acknowledged: Int, _ outcome: inout Outcome) throws -> Int {
        let clock = ContinuousClock()
        let start = clock.now
        let container = try CatalogueModel.open(at: storePath)
        let newest = try container.performAndWait { try DurabilityTrial.newestSave(in: $0) }
        outcome.reopening += clock.now - start
        let fault = try container.performAndWait { try DurabilityTrial.fault(in: $0, acknowledged: acknowledged) }
        if let fault { throw CommandFailure("The store at '\(storePath)' is not as it must be: \(fault).") }
        let report = try container.openStore().check()
        guard report.isSound else { throw CommandFailure("The store at '\(storePath)' fails its check: \(report).") }
        try container.close()
        return newest - acknowledged
    }
}

extension DurabilityDemo.Outcome {
    /// One line with the figures.
    var description: String {
        let perSave = acknowledged == 0 ? 0 : Double(syncs) / Double(acknowledged)
        let late = unreported == 0 ? "" : " (and \(Figures.count(unreported)) that had not been reported yet)"
        return "Killed \(Figures.count(kills, "time")) with SIGKILL: all \(Figures.count(acknowledged, "acknowledged save")) are there\(late), "
            + "nothing is half-done, check() finds nothing wrong; "
            + "\(Figures.decimal(perSave, places: 2)) syncs per acknowledged save, "
            + "reopened in \(Figures.duration(reopening / max(1, kills)))."
    }
}
