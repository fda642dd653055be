import HornbeamEngine

/// Hornbeam's engine, an index tree.
final class EngineKeyValue: KeyValueContestant {
    static let contestant = Contestant.hornbeam
    static let settings = "Hornbeam: engine door, pool 1 GiB, 16 KiB pages, commits at level full (one fdatasync a group)"

    private let path: String
    private var engine: Engine
    private let tree: TreeID

    init(path: String) throws {
        self.path = path
        engine = try Engine.open(path, options: Self.options)
        if let tree = try engine.snapshot().tree(named: "records") {
            self.tree = tree
        } else {
            let transaction = try engine.begin()
            tree = try transaction.createIndex(named: "records")
            _ = try transaction.commit()
        }
    }

    private static var options: EngineOptions {
        var options = EngineOptions()
        options.poolBytes = 1 << 30
        return options
    }

    func load(_ data: KeyValueData, _ order: [Int], isSorted: Bool) throws {
        let transaction = try engine.begin()
        for i in order { try transaction.put(data.key(i), data.value(i), in: tree) }
        _ = try transaction.commit()
    }

    func get(_ data: KeyValueData, _ records: ArraySlice<Int>) throws -> UInt64 {
        let view = try engine.snapshot().index(tree)
        var sum: UInt64 = 0
        for i in records { sum &+= try view.withValue(data.key(i), digest) ?? 0 }
        return sum
    }

    func scan() throws -> UInt64 {
        let view = try engine.snapshot().index(tree)
        var sum: UInt64 = 0
        try view.forEach(in: KeyRange()) { _, value throws(EngineError) in
            sum &+= digest(value)
            return true
        }
        return sum
    }

    func commit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        let transaction = try engine.begin()
        try transaction.put(key, value, in: tree)
        _ = try transaction.commit()
    }

    /// Threads commit through the queue, as saves do.
    func commitBesideOthers(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        _ = try engine.queue.commit(.full, isShared: true, begin: { try self.engine.begin() }) { transaction in
            try transaction.put(key, value, in: self.tree)
            return nil
        }
    }

    func commitBatch(_ data: KeyValueData, _ records: ArraySlice<Int>) throws {
        let transaction = try engine.begin()
        for i in records { try transaction.put(data.key(i), data.value(i), in: tree) }
        _ = try transaction.commit(.lazy(maxDelay: .milliseconds(20)))
    }

    /// Raises the sizes at which a checkpoint starts, so that from now on only commits change the files.
    func holdLog() throws {
        try engine.close()
        var options = Self.options
        options.checkpointLogBytes = 1 << 30
        options.pageFileBytes = 1 << 30
        engine = try Engine.open(path, options: options)
    }

    func close() throws { try engine.close() }
}
