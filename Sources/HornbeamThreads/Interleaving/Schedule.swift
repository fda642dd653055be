// The order in which threads run, as a few numbers that can be printed and replayed.

/// An order in which threads take turns: each goes on until it must wait, except at the preemptions.
///
/// As text: `12>0,40>1/7` preempts at the 12th and the 40th point and lets seed 7 choose who follows a thread that waits.
package struct Schedule: Hashable, Sendable, LosslessStringConvertible {
    /// A thread is stopped although it could go on.
    package struct Preemption: Hashable, Sendable {
        /// The number of the point, from 0, among those where another thread could go on instead.
        package var point: Int
        /// Which of the others goes on, counted from the thread that is stopped.
        package var target: Int

        package init(point: Int, target: Int) { (self.point, self.target) = (point, target) }
    }

    /// Ascending by point.
    package var preemptions: [Preemption]
    /// Chooses who follows a thread that waits or ends; 0 takes the next in the order in which they were given.
    package var seed: UInt64

    package init(preemptions: [Preemption] = [], seed: UInt64 = 0) {
        self.preemptions = preemptions.sorted { $0.point < $1.point }
        self.seed = seed
    }

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let seed = UInt64(parts[1]) else { return nil }
        var preemptions: [Preemption] = []
        for item in parts[0].split(separator: ",") {
            let numbers = item.split(separator: ">").compactMap { Int($0) }
            guard numbers.count == 2 else { return nil }
            preemptions.append(Preemption(point: numbers[0], target: numbers[1]))
        }
        self.init(preemptions: preemptions, seed: seed)
    }

    package var description: String {
        preemptions.map { "\($0.point)>\($0.target)" }.joined(separator: ",") + "/\(seed)"
    }
}
