import HornbeamEngine

/// A store fills its disk, crashes, and is opened on the same full disk. The opening succeeds, no acknowledged commit is missing,
/// deletions free space, and the space is used again.
struct FullDiskTrial {
    private static let batch = 8
    private static let pageSize = 1024
    private static let reserve = 65_536

    let seed: UInt64
    let capacity: Int
    private var options: EngineOptions

    init(seed: UInt64, capacity: Int) {
        self.seed = seed
        self.capacity = capacity
        options = EngineOracle.smallest
        options.pageSize = Self.pageSize
        options.poolBytes = 64 * Self.pageSize
        options.attachThreshold = 1 << 20
        options.checkpointLogBytes = 24_000
        options.slackBytes = 16_384
        options.pageFileBytes = 16_384
        options.reserveBytes = Self.reserve
        options.log = LogOptions(firstSegmentBytes: 16_384, largestSegmentBytes: 32_768)
    }

    /// Disks of many sizes, in steps of one or a few blocks.
    static func all(_ seed: UInt64, _ run: Run) throws {
        let first = 200_704 + Int(seed % 5) * 4096
        for capacity in stride(from: first, to: first + 120_000, by: 20_480) {
            try FullDiskTrial(seed: seed, capacity: capacity).perform(run)
        }
        run.add("full disks swept")
    }

    private func perform(_ run: Run) throws {
        let name = "a disk of \(capacity) bytes"
        guard PairsMode.includes(name, run) else { return }
        run.doing(name)
        let disk = SimulatedDisk()
        disk.capacity = capacity
        let start = try fill(disk)
        run.add("disks that were filled")
        var enumerator = CrashEnumerator(seed: seed)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 3
        try PairsMode.crash(disk, after: name, from: start, enumerator, run, judge)
    }

    // MARK: Filling

    /// Commits until the disk is full and upkeep frees no more space; then deletes some rows. Returns the first operation after
    /// which the disk was full.
    private func fill(_ disk: SimulatedDisk) throws -> Int {
        let engine = try Engine.open(EngineOracle.path, fileSystem: disk, options: options)
        let created = try engine.begin()
        let tree = try created.createIndex(named: "batches")
        _ = try created.commit()
        var number = 0
        var refusals = 0
        var start = disk.operationCount
        while refusals < 3 {
            do {
                disk.mark(.submitted(UInt64(number + 1)))
                try put(number + 1, in: tree, engine)
                number += 1
                disk.mark(.acknowledged(UInt64(number)))
            } catch let error as EngineError where error.code == .full {
                if refusals == 0 { start = disk.operationCount }
                refusals += 1
                engine.maintain()
            }
        }
        // Without this checkpoint, a process on a full disk would not use the reserve.
        do throws(EngineError) { try engine.checkpoint() } catch { guard error.code == .full else { throw error } }
        return max(0, start - 40)
    }

    private func put(_ number: Int, in tree: TreeID, _ engine: Engine) throws {
        let transaction = try engine.begin()
        for index in 0..<Self.batch { try transaction.put(key(number, index), value(number, index), in: tree) }
        _ = try transaction.commit()
    }

    private func delete(_ number: Int, from tree: TreeID, _ engine: Engine) throws {
        let transaction = try engine.begin()
        for index in 0..<Self.batch { _ = try transaction.delete(key(number, index), from: tree) }
        _ = try transaction.commit()
    }

    private func key(_ number: Int, _ index: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(number * Self.batch + index).bigEndian) { Array($0) }
    }

    private func value(_ number: Int, _ index: Int) -> [UInt8] {
        var random = SimulationRandom(seed: seed &+ UInt64(number * Self.batch + index))
        return (0..<120).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    // MARK: Judging

    private func judge(_ image: CrashEnumerator.Image) throws {
        // Removed files that a crash restores may need more space than there was.
        image.disk.capacity = max(capacity, image.disk.used)
        var options = options
        options.createIfMissing = false
        let engine = try saying("opening") { try Engine.open(EngineOracle.path, fileSystem: image.disk, options: options) }
        guard let tree = try engine.snapshot().tree(named: "batches") else { throw Finding("the tree is missing") }
        var batches = try expect(engine, tree, from: 1)
        guard batches.count >= image.acknowledged, batches.count <= image.submitted else {
            throw Finding("\(batches.count) batches are there")
        }
        // An insert comes first: where it is refused for want of space, the deletions make space all the same.
        do {
            try put((batches.last ?? 0) + 1, in: tree, engine)
            batches.append((batches.last ?? 0) + 1)
        } catch let error as EngineError {
            guard error.code == .full else { throw Finding("putting a batch before deleting: \(error)") }
        }
        // In every eighth image most rows are deleted, so that there is space for the reserve and the log; in the others some.
        let makesRoom = PairsMode.isOneOf(8, image.name)
        let doomed = makesRoom ? batches.count * 3 / 4 : batches.count / 5
        for number in batches.prefix(doomed) {
            try saying("deleting batch \(number) of \(batches.count)") { try delete(number, from: tree, engine) }
            engine.maintain()
        }
        batches.removeFirst(doomed)
        let next = (batches.last ?? 0) + 1
        do {
            try put(next, in: tree, engine)
            batches.append(next)
        } catch let error as EngineError {
            // The opening may be refused only when the disk has no space for the reserve and the log.
            guard error.code == .full, !makesRoom, room(image.disk) < Self.reserve + 2 * options.log.largestSegmentBytes else {
                throw Finding("putting a batch after deleting: \(error)")
            }
        }
        try saying("closing") { try engine.close() }
        let again = try Engine.open(EngineOracle.path, fileSystem: image.disk, options: options)
        guard try expect(again, tree, from: batches.first ?? 1) == batches else { throw Finding("the batches after deleting are wrong") }
        try again.close()
    }

    /// The number of bytes that are free or in the reserve.
    private func room(_ disk: SimulatedDisk) -> Int {
        capacity - disk.used + (disk.files[EngineOracle.path + "/reserve"]?.count ?? 0)
    }

    private func saying<R>(_ what: String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as EngineError { throw Finding("\(what): \(error)") }
    }

    /// The consecutive batches in the store; throws when a value is wrong.
    private func expect(_ engine: Engine, _ tree: TreeID, from first: Int) throws -> [Int] {
        let view = try engine.snapshot().index(tree)
        let count = Int(view.count) / Self.batch
        guard Int(view.count) == count * Self.batch else { throw Finding("\(view.count) entries are not whole batches") }
        for number in first..<first + count {
            for index in 0..<Self.batch {
                guard try view.get(key(number, index)) == value(number, index) else { throw Finding("batch \(number) is wrong") }
            }
        }
        return Array(first..<first + count)
    }
}
