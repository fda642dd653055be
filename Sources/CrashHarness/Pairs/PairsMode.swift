import HornbeamEngine
import HornbeamSimulation

/// Two faults in succession on a simulated disk. The second one happens after or during the recovery from the first one.
///
/// The case depends on `seed % 8`. 0, 3, 5: a process is killed, then the power fails. 1, 4, 6: a sync fails, then the power fails. 2: two calls
/// fail. 7: alternately a full disk, then a crash; and the kill of a process that copies a store, then a power failure.
enum PairsMode: Mode {
    static let name = "pairs"
    static let summary = "two faults in a row on a simulated disk: kills, failed syncs, full disks, failing calls, crashes"
    static let unit = "pair images"

    static func round(_ seed: UInt64, _ run: Run) throws {
        switch seed % 8 {
        case 0, 3, 5: try KilledTrial.all(of: SimulatedWorkload(seed: seed, length: 3...9), seed, run)
        case 1, 4, 6: try FailedSyncTrial.all(of: SimulatedWorkload(seed: seed, length: 3...7), seed, run)
        case 2: try TwoCallsTrial.all(of: SimulatedWorkload(seed: seed, length: 2...4), run)
        default: if seed / 8 % 2 == 0 { try FullDiskTrial.all(seed, run) } else { try KilledCopyTrial.all(seed, run) }
        }
    }

    /// Simulates a power failure at every operation from a given one on. The name of each image starts with the name of the first fault.
    static func crash(
        _ disk: SimulatedDisk, after first: String, from start: Int = 0, _ enumerator: CrashEnumerator, _ run: Run,
        _ judge: (CrashEnumerator.Image) throws -> Void
    ) throws {
        var enumerator = enumerator
        enumerator.start = start
        if let replay = run.options.replay {
            guard replay.hasPrefix(first + " > ") else { return }
            enumerator.only = String(replay.dropFirst(first.count + 3))
        }
        do {
            _ = try enumerator.crash(disk) { image in
                // Torn writes have many forms. Each first fault is combined with only some of them.
                if image.name.contains(":piece "), enumerator.only == nil, !isSampled(8, image.name + first) { return }
                try run.beginCase(first + " > " + image.name, as: unit)
                try judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.Finished {
            throw failure.cause
        }
    }

    /// Selects about one name out of `count`, by its hash.
    static func isSampled(_ count: Int, _ name: String) -> Bool { name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) } % UInt64(count) == 0 }

    /// True if the run includes the cases with this first fault.
    static func includes(_ first: String, _ run: Run) -> Bool {
        run.options.replay.map { $0 == first || $0.hasPrefix(first + " > ") } ?? true
    }

    /// An enumerator with few images per crash point, because there are many points.
    static func enumerator(seed: UInt64) -> CrashEnumerator {
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        return enumerator
    }
}

extension EngineOracle {
    /// Judges about one image out of eight completely. Of the others, it judges only the recovered transaction and the content.
    func judgeSampled(_ image: CrashEnumerator.Image) throws {
        if PairsMode.isSampled(8, image.name) { return try judge(image) }
        let engine = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        let found = try newest(in: engine.snapshot())
        guard found >= image.acknowledged, found <= max(image.submitted, image.acknowledged) else {
            throw Finding("recovered transaction \(found)")
        }
        try expectContent(engine)
    }

    /// Opens a store after a first fault and continues in one of several ways. Marks the acknowledged commits.
    func continueAfterFault(on fileSystem: any FileSystem, _ ending: Ending, marking disk: SimulatedDisk) throws {
        let engine = try Engine.open(Self.path, fileSystem: fileSystem, options: options)
        let found = try newest(in: engine.snapshot())
        let commitBounds = disk.commitBounds
        guard found >= commitBounds.acknowledged, found <= max(commitBounds.submitted, commitBounds.acknowledged) else {
            throw Finding("transaction \(found) is shown after the first fault")
        }
        try expectContent(engine)
        // Opening the store has made the recovered transaction durable.
        disk.mark(.acknowledged(found))
        if ending != .closes { try commit(to: engine, through: min(found + 2, last), disk: disk) }
        if ending == .commitsAndEnds { return }
        try engine.close()
    }

    /// The actions of the process that opens the store after the first fault.
    enum Ending: String, CaseIterable {
        case closes = "closed again"
        case commitsAndCloses = "two commits and closed"
        case commitsAndEnds = "two commits and ended"
    }
}
