import Foundation

/// Single durable commits of several contenders, a hundred of each in turn. The load of the disk and its host changes from
/// second to second, and all contenders should have the same load.
struct Turns {
    struct Contender {
        let who: Contestant
        /// Commits these records and returns the seconds of each commit.
        let commit: (Range<Int>) throws -> [Double]

        init(_ who: Contestant, _ commit: @escaping (Range<Int>) throws -> [Double]) { (self.who, self.commit) = (who, commit) }
    }

    private static let length = 100
    private let counter: FlushCounter?

    /// Counts the flushes of the device below a path.
    init(below path: String) { counter = FlushCounter(below: path) }

    /// The seconds of each commit, and the device's flushes per commit if the kernel counts them.
    func take(_ count: Int, _ contenders: [Contender]) throws -> [(who: Contestant, seconds: [Double], flushes: Double?)] {
        var seconds = contenders.map { _ in [Double]() }
        var flushes = contenders.map { _ in 0 }
        for start in stride(from: 0, to: count, by: Self.length) {
            for (i, contender) in contenders.enumerated() {
                let before = counter?.count ?? 0
                seconds[i] += try contender.commit(start..<min(start + Self.length, count))
                // The background work of a store is counted for this store.
                usleep(20_000)
                flushes[i] += (counter?.count ?? 0) - before
            }
        }
        return contenders.indices.map { i in
            (contenders[i].who, seconds[i], counter.map { _ in Double(flushes[i]) / Double(count) })
        }
    }
}
