import HornbeamEngine
import HornbeamSimulation
import HornbeamThreads

/// Generates the schedules of a workload, from the number of points in its first run.
struct ScheduleExplorer {
    private var random: SimulationRandom
    /// The number of points at which a preemption is possible.
    private let points: Int
    /// The number of other threads that can run next.
    private let others: Int

    init(seed: UInt64, points: Int, others: Int) {
        random = SimulationRandom(seed: seed)
        self.points = max(points, 1)
        self.others = max(others, 1)
    }

    /// The number of schedules with at most two preemptions.
    var countWithTwoPreemptions: Int { 1 + points * others + points * (points - 1) / 2 * others * others }

    /// All schedules with at most two preemptions, those with fewer first.
    func all() -> [Schedule] {
        let ones = (0..<points).flatMap { point in
            (0..<others).map { Schedule.Preemption(point: point, target: $0) }
        }
        var schedules = [Schedule()] + ones.map { Schedule(preemptions: [$0]) }
        for first in ones {
            for second in ones where second.point > first.point { schedules.append(Schedule(preemptions: [first, second])) }
        }
        return schedules
    }

    /// A random schedule. Usually it has one or two preemptions, sometimes up to six. In every other schedule, the thread that runs after a
    /// thread begins to wait is chosen at random.
    mutating func sample() -> Schedule {
        let count = [1, 2, 2, 2, 2, 2, 2, Int.random(in: 3...6, using: &random)].randomElement(using: &random)!
        var chosen: Set<Int> = []
        while chosen.count < min(count, points) { chosen.insert(Int.random(in: 0..<points, using: &random)) }
        let preemptions = chosen.sorted().map {
            Schedule.Preemption(point: $0, target: Int.random(in: 0..<others, using: &random))
        }
        let choices = Bool.random(using: &random) ? 0 : UInt64.random(in: 1..<1 << 20, using: &random)
        return Schedule(preemptions: preemptions, seed: choices)
    }
}
