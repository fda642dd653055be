import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore

/// A store on the real disk. The process that migrates it is killed repeatedly. The store must then be completely in the last acknowledged
/// version, or in the version whose migration had begun.
final class MigrationKillTrial {
    struct Outcome {
        /// The number of migrations that the child acknowledged.
        let migrations: Int
        /// True if the kill interrupted a migration.
        let wasInside: Bool
        /// True when that migration had a stage with code.
        let wasInCode: Bool
    }

    private static let versionsPerChild = 40

    let seed: UInt64
    let path: String
    /// The current version of the store, with its objects.
    private var version: RandomVersion
    private var number = 0

    init(seed: UInt64, folder: URL) throws {
        self.seed = seed
        path = folder.appendingPathComponent("versions.hornbeam").path
        version = try MigrationHistory(seed: seed, PosixFileSystem(), path: path, fills: 8).version
    }

    /// Runs a child that migrates through some versions, kills it, and verifies the store.
    func killOnce() throws -> Outcome {
        var chain = [version]
        var steps: [NextVersion] = []
        for count in 1...Self.versionsPerChild {
            let number = UInt64(number + count)
            steps.append(try NextVersion(after: chain[chain.count - 1], stage: number % 3 == 0 ? number : nil))
            chain.append(steps[steps.count - 1].version)
        }
        try write(steps)
        let reports = try KilledProcess(.migration, path, seed, delayMax: 250_000).run().compactMap { Int($0) }
        let first = number
        let acknowledged = max(reports.last { $0 % 2 == 0 }.map { $0 / 2 } ?? first, first)
        let begun = reports.last.map { ($0 + 1) / 2 } ?? first
        // The last migration may have begun without a report.
        let candidates = acknowledged...min(max(begun, acknowledged) + 1, first + Self.versionsPerChild)
        let found = try foundVersion(chain, first, candidates)
        try verify(chain[found - first])
        (version, number) = (chain[found - first], found)
        let wasInside = begun > acknowledged
        return Outcome(
            migrations: acknowledged - first, wasInside: wasInside, wasInCode: wasInside && steps[begun - first - 1].stage != nil)
    }

    private func foundVersion(_ chain: [RandomVersion], _ first: Int, _ candidates: ClosedRange<Int>) throws -> Int {
        let stored = try Store.storedModel(of: .directory(path)).definition
        for candidate in candidates where try chain[candidate - first].model().definition == stored { return candidate }
        throw Finding("version \(candidates.lowerBound) was acknowledged, and the store has no version from it to \(candidates.upperBound)")
    }

    /// Opens the store with its version. Its content must equal the result of the simple migration.
    private func verify(_ version: RandomVersion) throws {
        let container = try MigrationHistory.open(try version.model(), PosixFileSystem(), path: path)
        let found = try container.performAndWait { try PlainObjects.read($0, container.managedObjectModel) }
        if let difference = found.difference(to: version.plain) {
            throw Finding("after \(version.edits.joined(separator: "; ")): \(difference)")
        }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        // Sometimes the store is not closed, so that the next process begins with a recovery.
        if Bool.random() { try container.close() }
    }

    // MARK: Versions in files

    private static func folder(besideStoreAt path: String) -> URL { URL(fileURLWithPath: path + ".versions") }

    /// Writes the version of the store and those that follow, each to a file that its number names.
    private func write(_ steps: [NextVersion]) throws {
        let folder = Self.folder(besideStoreAt: path)
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try version.model().json().write(to: folder.appendingPathComponent("\(number).json"))
        for (place, step) in steps.enumerated() {
            let name = "\(number + 1 + place)\(step.stage == nil ? "" : Self.codeMark).json"
            try step.version.model().json().write(to: folder.appendingPathComponent(name))
        }
    }

    /// The end of the names of versions to which a stage with code leads.
    private static let codeMark = " by code"

    /// A version for the child, and the plan that leads to it; nil for an inferred migration.
    struct Version {
        let number: Int
        let model: ManagedObjectModel
        let plan: MigrationPlan?
    }

    /// The versions that follow that of the store, in order.
    static func versions(besideStoreAt path: String) throws -> [Version] {
        let files = try FileManager.default.contentsOfDirectory(at: folder(besideStoreAt: path), includingPropertiesForKeys: nil)
        let models = try files.compactMap { file -> (number: Int, hasCode: Bool, model: ManagedObjectModel)? in
            let name = file.deletingPathExtension().lastPathComponent
            let hasCode = name.hasSuffix(codeMark)
            guard let number = Int(hasCode ? String(name.dropLast(codeMark.count)) : name) else { return nil }
            return (number, hasCode, try ManagedObjectModel(contentsOf: file))
        }.sorted { $0.number < $1.number }
        return try zip(models, models.dropFirst()).map { before, after in
            let stage = after.hasCode ? CodedStage(number: UInt64(after.number)) : nil
            return Version(number: after.number, model: after.model, plan: try NextVersion.plan(stage, from: before.model, to: after.model))
        }
    }
}
