import HornbeamEngine
import HornbeamSimulation

/// A process is killed at every operation of a workload. The cache of the system keeps its writes. The next process recovers from these and
/// continues. Then a power failure is simulated at every operation of the next process.
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
            run.beginPart(name)
            try workload.oracle.continueAfterFault(on: killed, ending, marking: killed)
            try PairsMode.crash(killed, after: name, PairsMode.enumerator(seed: seed), run, workload.oracle.judgeSampled)
        }
        run.add("workloads killed at every operation")
    }
}
