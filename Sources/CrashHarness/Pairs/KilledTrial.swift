import HornbeamEngine

/// A process is killed at every operation of a workload. The cache keeps its writes, the next process recovers from them and
/// continues. Then a power failure is simulated at every one of its operations.
enum KilledTrial {
    static func all(of workload: SimulatedWorkload, _ seed: UInt64, _ run: Run) throws {
        let disk = SimulatedDisk()
        try workload.perform(on: disk, marking: disk)
        for point in 1...disk.operationCount {
            let endings = EngineOracle.Ending.allCases
            let ending = endings[(point + Int(seed % 3)) % endings.count]
            let name = "killed at \(point), \(ending.rawValue)"
            guard PairsMode.includes(name, run) else { continue }
            run.add("kills that keep the cache")
            let killed = disk.killed(after: point)
            run.doing(name)
            try workload.oracle.goOn(on: killed, ending, marking: killed)
            try PairsMode.crash(killed, after: name, PairsMode.enumerator(seed: seed), run, workload.oracle.judgeOneOfMany)
        }
        run.add("workloads killed at every operation")
    }
}
