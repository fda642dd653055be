internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Sorts the entries of an index that is being built, so that its leaves are written once, in ascending order.
///
/// Threads collect entries in memory of bounded size. When it is used up, the sorted entries are written to an index of their own, a run; at
/// the end the runs are merged.
final class EntrySorter {
    private let build: MigrationBuild
    /// One for each thread that collects.
    let parts: [SortedRun]
    private let bytesMax: Int
    private var runs: [String] = []
    /// Reports an entry whose key is already in the index, with the value that is there.
    private let taken: (_ key: [UInt8], _ value: [UInt8], _ held: [UInt8]) throws(EngineError) -> Void

    /// - Parameter share: How many sorters share the memory: a quarter of the size of the pool.
    init(
        _ build: MigrationBuild, threads: Int, share: Int = 1,
        taken: @escaping (_ key: [UInt8], _ value: [UInt8], _ held: [UInt8]) throws(EngineError) -> Void = { _, _, _ in }
    ) {
        self.build = build
        self.taken = taken
        parts = (0 ..< threads).map { _ in SortedRun() }
        bytesMax = min(build.engine.options.poolBytes / 4 / share, SortedRun.bytesMax)
    }

    func append(_ key: [UInt8], _ value: [UInt8]) { parts[0].append(key, value) }

    /// Writes a run when the memory is used up.
    func spillIfFull() throws {
        if parts.reduce(0, { $0 + $1.usedBytes }) >= bytesMax { try spill() }
    }

    private func spill() throws {
        let name = "sort/\(build.nextRunNumber())"
        try PendingMigration.add([name], to: build.transaction)
        let tree = try build.transaction.createIndex(named: name)
        try merge(sorted(), into: tree)
        try build.flush()
        runs.append(name)
        for part in parts { part.removeAll() }
    }

    /// Writes all entries to an index, then removes them.
    func finish(into tree: TreeID) throws {
        guard !runs.isEmpty else {
            try merge(sorted(), into: tree)
            for part in parts { part.removeAll() }
            return
        }
        try spill()
        try mergeRuns(into: tree)
        // One transaction for each run limits the size of the transactions.
        for name in runs {
            if let run = build.transaction.tree(named: name) { try build.transaction.drop(run) }
            try build.flush()
        }
        runs = []
    }

    /// Holds a snapshot of the runs only while it reads them.
    private func mergeRuns(into tree: TreeID) throws {
        let snapshot = try build.engine.snapshot(isPinned: true)
        var cursors: [RunCursor] = []
        for name in runs {
            if let run = snapshot.tree(named: name) { cursors.append(try RunCursor(snapshot.index(run))) }
        }
        try merge(cursors, into: tree)
        try build.flush()
    }

    private func sorted() -> [RunCursor] {
        Cores.share(parts.count) { parts[$0].sort() }
        return parts.map { RunCursor($0) }
    }

    private func merge(_ all: [RunCursor], into tree: TreeID) throws {
        var cursors = all.filter { !$0.isAtEnd }
        var (lastKey, lastValue): ([UInt8], [UInt8]) = ([], [])
        var isFirst = true
        try build.translated { () throws(EngineError) in
            while !cursors.isEmpty {
                var least = 0
                for other in cursors.indices.dropFirst() where cursors[other].precedes(cursors[least]) { least = other }
                let cursor = cursors[least]
                unsafe try cursor.withEntry { (key, value) throws(EngineError) in
                    if !isFirst, unsafe key.elementsEqual(lastKey) { return unsafe try taken(lastKey, [UInt8](value), lastValue) }
                    isFirst = false
                    lastKey.removeAll(keepingCapacity: true)
                    unsafe lastKey.append(contentsOf: key)
                    lastValue.removeAll(keepingCapacity: true)
                    unsafe lastValue.append(contentsOf: value)
                    unsafe try build.transaction.put(key, value, in: tree)
                }
                try cursor.advance()
                if cursor.isAtEnd { cursors.remove(at: least) }
                try build.countWritten(bytes: lastKey.count + lastValue.count + Self.entryBytes)
            }
        }
    }

    /// The bytes of an entry in a leaf, besides its key and its value.
    private static let entryBytes = 16
}
