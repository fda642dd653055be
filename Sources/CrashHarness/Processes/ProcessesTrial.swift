import Foundation
import HornbeamEngine
import HornbeamThreads

/// A store on the real disk that several processes write in turns while some of them are killed and stopped.
final class ProcessesTrial {
    /// The commits that the processes have reported.
    private final class Reports: Sendable {
        private let state = Guarded((newest: UInt64(0), count: 0))
        /// The newest acknowledged commit.
        var newest: UInt64 { state.withLock { $0.newest } }
        var count: Int { state.withLock { $0.count } }

        /// Reads the reports of a process until it ends. An incomplete last line is no report.
        func read(_ file: FileHandle) {
            var rest = Data()
            while true {
                let data = file.availableData
                if data.isEmpty { return }
                rest.append(data)
                guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
                let numbers = String(decoding: rest[rest.startIndex..<end], as: UTF8.self).split(separator: "\n").compactMap { UInt64($0) }
                rest = Data(rest[(end + 1)...])
                state.withLock { state in
                    state.newest = numbers.reduce(state.newest, max)
                    state.count += numbers.count
                }
            }
        }
    }

    private let seed: UInt64
    private let path: String
    private let reports = Reports()
    private var children: [Process] = []
    /// The threads that read the reports.
    private var readers: [Thread] = []
    /// The expected content at the last verification, and its transaction.
    private var state = EngineOracle.State()
    private var known: UInt64 = 0

    init(seed: UInt64, folder: URL) {
        self.seed = seed
        path = folder.appendingPathComponent("shared-\(seed).hornbeam").path
    }

    /// The transactions of all processes. Small pages and logs, so that checkpoints and new segments are frequent.
    static func workload(_ seed: UInt64) -> EngineOracle {
        let alone = KillTrial.engineWorkload(seed)
        var options = alone.options
        options.usesBackgroundThread = true
        options.isShared = true
        options.busyTimeout = .seconds(120)
        return EngineOracle(seed: seed, transactions: 2, bigEvery: 23, options: options)
    }

    /// Starts processes, kills and stops some of them, kills all, and verifies the store. Returns the number of kills and of commits.
    func run(processes count: Int, kills: Int, note: (String) throws -> Void) throws -> (kills: Int, stops: Int, commits: Int) {
        defer { killAll() }
        for number in 0..<count { try start(number) }
        var stops = 0
        for kill in 0..<kills {
            try note("kill \(kill + 1)")
            try waitForCommits(.random(in: 1...60))
            let victim = Int.random(in: 0..<count)
            if Int.random(in: 0..<3) == 0 {
                stops += 1
                Foundation.kill(children[victim].processIdentifier, SIGSTOP)
                usleep(.random(in: 1000...50_000))
                Foundation.kill(children[victim].processIdentifier, SIGCONT)
                try waitForCommits(1)
            }
            try end(children[victim])
            try start(victim, replacing: true)
        }
        try waitForCommits(count * 5)
        killAll()
        return (kills + count, stops, try verify(processes: count))
    }

    private func start(_ number: Int, replacing: Bool = false) throws {
        let child = Process()
        let pipe = Pipe()
        child.executableURL = Supervisor.executable
        child.arguments = [
            ProcessesChild.command, "--path", path, "--seed", String(seed), "--role", number == 0 ? "reopens" : "writes",
        ]
        child.standardOutput = pipe
        child.standardInput = FileHandle.nullDevice
        try child.run()
        if replacing { children[number] = child } else { children.append(child) }
        let file = pipe.fileHandleForReading
        let reader = Thread { [reports] in reports.read(file) }
        reader.start()
        readers.append(reader)
    }

    /// Waits until the processes have reported more commits. Throws if a process ends, or if none commits for two minutes.
    private func waitForCommits(_ count: Int) throws {
        let goal = reports.count + count
        let limit = ContinuousClock.now + .seconds(120)
        while reports.count < goal {
            guard ContinuousClock.now < limit else { throw Finding("no process commits") }
            for child in children where !child.isRunning { throw Finding("a process ended by itself with status \(child.terminationStatus)") }
            usleep(2000)
        }
    }

    private func end(_ child: Process) throws {
        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
            throw Finding("a process ended by itself with status \(child.terminationStatus)")
        }
    }

    /// Kills the remaining processes and waits until their reports are read.
    private func killAll() {
        for child in children {
            if child.isRunning { kill(child.processIdentifier, SIGKILL) }
            child.waitUntilExit()
        }
        for reader in readers { while !reader.isFinished { usleep(1000) } }
        children = []
        readers = []
    }

    /// Each process may have committed one transaction without a report. Returns the number of commits since the last verification.
    private func verify(processes count: Int) throws -> Int {
        var options = Self.workload(seed).options
        options.isShared = Bool.random()
        let oracle = Self.workload(seed)
        let engine = try Engine.open(path, options: options)
        let found = try oracle.newest(in: engine.snapshot())
        let acknowledged = reports.newest
        guard found >= acknowledged else { throw Finding("\(acknowledged) was acknowledged and the store ends with \(found)") }
        guard found <= acknowledged + UInt64(count) else { throw Finding("the store ends with \(found) and \(acknowledged) was the last report") }
        let before = known
        while known < found {
            known += 1
            if known > 1 { for change in oracle.changes(known) { state.apply(change) } }
        }
        guard try oracle.digest(try engine.snapshot()) == state.digest else {
            throw Finding("the content is not that after transaction \(found)")
        }
        let report = try engine.check()
        guard report.problems.isEmpty else { throw Finding(report.problems.joined(separator: " ")) }
        if Bool.random() { try engine.close() }
        return Int(found - before)
    }
}
