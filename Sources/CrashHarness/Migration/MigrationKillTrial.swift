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
        for _ in 0..<Self.versionsPerChild {
            var next = chain[chain.count - 1]
            try next.evolve()
            chain.append(next)
        }
        try Self.write(chain.dropFirst().map { try $0.model() }, after: number, besideStoreAt: path)
        let reports = try KilledProcess(.migration, path, seed, delayMax: 250_000).run().map(Int.init)
        let first = number
        let acknowledged = max(reports.last { $0 % 2 == 0 }.map { $0 / 2 } ?? first, first)
        let begun = reports.last.map { ($0 + 1) / 2 } ?? first
        // The last migration may have begun without a report.
        let candidates = acknowledged...min(max(begun, acknowledged) + 1, first + Self.versionsPerChild)
        let found = try foundVersion(chain, first, candidates)
        try verify(chain[found - first])
        (version, number) = (chain[found - first], found)
        return Outcome(migrations: acknowledged - first, wasInside: begun > acknowledged)
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

    private static func write(_ models: [ManagedObjectModel], after number: Int, besideStoreAt path: String) throws {
        let folder = folder(besideStoreAt: path)
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (place, model) in models.enumerated() {
            try model.json().write(to: folder.appendingPathComponent("\(number + 1 + place).json"))
        }
    }

    /// The versions for the migrations, by number.
    static func versions(besideStoreAt path: String) throws -> [Int: ManagedObjectModel] {
        let files = try FileManager.default.contentsOfDirectory(at: folder(besideStoreAt: path), includingPropertiesForKeys: nil)
        var versions: [Int: ManagedObjectModel] = [:]
        for file in files {
            guard let number = Int(file.deletingPathExtension().lastPathComponent) else { continue }
            versions[number] = try ManagedObjectModel(contentsOf: file)
        }
        return versions
    }
}
