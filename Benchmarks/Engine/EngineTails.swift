import HornbeamEngine

/// The slowest durable commits during checkpoints and cleaning: single updates of a store whose dead pages must be
/// cleaned, beside the same number of raw writes.
struct EngineTails {
    let folder: Folder
    let seconds: Double
    private let records = 200_000

    func run() throws {
        try reportDisk()
        for threads in [1, 8] {
            let path = try folder.empty("tails-\(threads)")
            var options = EngineOptions()
            options.checkpointLogBytes = 8 << 20
            let engine = try Engine.open(path, options: options)
            let tree = try fill(engine)
            let before = try engine.statistics()
            let samples = try updates(engine, tree, threads: threads)
            let after = try engine.statistics()
            report("\(threads) thread\(threads == 1 ? "" : "s")", samples)
            print(
                "  \(after.checkpoints - before.checkpoints) checkpoints wrote \((after.checkpointBytes - before.checkpointBytes) >> 20) MiB, "
                    + "\(after.pageFileBytes >> 20) MiB of pages for \(after.liveBytes >> 20) MiB live")
            try engine.close()
        }
        try reportDisk()
    }

    private func reportDisk() throws { report("the disk alone", try Floor(in: folder).commits(0..<5000)) }

    private func fill(_ engine: Engine) throws -> TreeID {
        let transaction = try engine.begin()
        let tree = try transaction.createIndex(named: "records")
        for i in 0..<records { try transaction.put(key(i), value(UInt64(i)), in: tree) }
        _ = try transaction.commit()
        return tree
    }

    private func key(_ i: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(i).bigEndian) { Array($0) } + Array(repeating: 7, count: 8) }

    /// 150 bytes that do not compress.
    private func value(_ seed: UInt64) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        return (0..<150).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state)
        }
    }

    /// Seconds of each commit.
    private func updates(_ engine: Engine, _ tree: TreeID, threads: Int) throws -> [Double] {
        let end = now() + seconds
        let samples = (0..<threads).map { _ in ThreadSamples() }
        _ = try onThreads(threads) { thread in
            var state = UInt64(thread + 1) &* 0x2545_F491_4F6C_DD1D
            while now() < end {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let record = Int(state >> 33) % records
                samples[thread].values.append(
                    try timed {
                        let transaction = try engine.begin()
                        try transaction.put(key(record), value(state), in: tree)
                        _ = try transaction.commit()
                    }.seconds)
            }
            return 0
        }
        return samples.flatMap(\.values)
    }

    /// The figures of one thread.
    private final class ThreadSamples {
        var values: [Double] = []
    }

    private func report(_ title: String, _ samples: [Double]) {
        let sorted = samples.sorted()
        func at(_ share: Double) -> Int { Int(percentile(sorted, share) * 1e6) }
        let ratio = Double(at(0.999)) / Double(max(at(0.5), 1))
        print(
            "\(title): \(sorted.count) durable writes, median \(at(0.5)) µs, p99 \(at(0.99)), p99.9 \(at(0.999)) "
                + "(\((ratio * 10).rounded() / 10) × the median), worst \(at(1))")
    }
}
