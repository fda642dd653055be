import Foundation
import Hornbeam

/// Several processes increment the same counters on a server. Each increment that was acknowledged, and that no merge report names as lost, must be there.
struct CountersTrial {
    let schema: String
    let seed: UInt64
    let processes: Int
    let steps: Int
    /// The least time for which the processes save.
    let seconds: Double

    /// - Parameter disturb: Called while the processes work.
    func run(_ disturb: () throws -> Void) throws -> StressTally {
        let stack = try StressStack(filling: StressStack.container(ServerStores.description(schema)), folder: nil)
        let children = try (0 ..< processes).map(start)
        var tally = StressTally()
        do { try disturb() } catch {
            for child in children { child.process.terminate() }
            throw error
        }
        for (number, child) in children.enumerated() {
            let report = child.output.fileHandleForReading.readDataToEndOfFile()
            child.process.waitUntilExit()
            guard child.process.terminationStatus == 0 else { throw Finding("process \(number) ended with status \(child.process.terminationStatus)") }
            tally.add(try JSONDecoder().decode(StressTally.self, from: report))
        }
        // A container of its own has read no rows before.
        let judge = try StressStack(ServerStores.description(schema))
        try judge.judge(tally)
        try judge.container.close()
        try stack.container.close()
        return tally
    }

    private func start(_ number: Int) throws -> (process: Process, output: Pipe) {
        let child = Process()
        let output = Pipe()
        child.executableURL = Supervisor.executable
        child.arguments = CountersChild.words(schema, number: number, seed: seed, steps: steps, seconds: seconds)
        child.standardOutput = output
        child.standardInput = FileHandle.nullDevice
        try child.run()
        return (child, output)
    }
}
