// The order in which threads run, as a few numbers that can be printed and replayed.

/// An order in which threads run: each thread runs until it must wait, ends or is preempted.
///
/// The text `12>0,40>1/7` means: preempt at the points 12 and 40, and choose with seed 7 the thread that follows a waiting thread.
package struct Schedule: Hashable, Sendable, LosslessStringConvertible {
    /// A point at which a thread is stopped although it could continue.
    package struct Preemption: Hashable, Sendable {
        /// The number of the point, from 0. Only points at which another thread is ready are counted.
        package var point: Int
        /// The thread that runs next: its position among the other ready threads, counted from the stopped thread.
        package var target: Int

        package init(point: Int, target: Int) { (self.point, self.target) = (point, target) }
    }

    /// The preemptions, in the order of their points.
    package var preemptions: [Preemption]
    /// The seed for the choice of the thread that follows a waiting or ended thread. With 0 it is the next thread in the order of the parts.
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
