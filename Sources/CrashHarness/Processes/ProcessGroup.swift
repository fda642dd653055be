import Foundation
import HornbeamThreads

/// Real processes that work side by side, report lines, and are killed or stopped.
final class ProcessGroup {
    /// The lines that the processes have reported.
    private final class Reports: Sendable {
        private let state = Guarded((lines: [String](), count: 0))
        /// The number of lines so far.
        var count: Int { state.withLock { $0.count } }

        /// Returns and removes the lines.
        func take() -> [String] {
            state.withLock { state in
                defer { state.lines = [] }
                return state.lines
            }
        }

        /// Reads the reports of a process until it ends. An incomplete last line is no report.
        func read(_ file: FileHandle) {
            var rest = Data()
            while true {
                let data = file.availableData
                if data.isEmpty { return }
                rest.append(data)
                guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
                let lines = String(decoding: rest[rest.startIndex..<end], as: UTF8.self).split(separator: "\n").map(String.init)
                rest = Data(rest[(end + 1)...])
                state.withLock { state in
                    state.lines += lines
                    state.count += lines.count
                }
            }
        }
    }

    /// The command line of the process of a number. Called for each start.
    private let words: (Int) -> [String]
    /// The store whose file `lock` names the process that has the turn; nil if there is none.
    private let store: String?
    private let reports = Reports()
    private var children: [Process] = []
    /// The threads that read the reports.
    private var readers: [Thread] = []
    private(set) var killCount = 0
    private(set) var stopCount = 0
    /// The number of stops of the process that had the turn.
    private(set) var holderStopCount = 0

    init(of store: String? = nil, _ words: @escaping (Int) -> [String]) { (self.store, self.words) = (store, words) }

    var count: Int { children.count }

    /// Starts processes until there are `count`.
    func start(_ count: Int) throws {
        while children.count < count { children.append(try child(children.count)) }
    }

    private func child(_ number: Int) throws -> Process {
        let child = Process()
        let pipe = Pipe()
        child.executableURL = Supervisor.executable
        child.arguments = words(number)
        child.standardOutput = pipe
        child.standardInput = FileHandle.nullDevice
        try child.run()
        let file = pipe.fileHandleForReading
        let reader = Thread { [reports] in reports.read(file) }
        reader.start()
        readers.append(reader)
        return child
    }

    /// Waits until the processes have reported more lines. Throws if a process ends, or if none reports for two minutes.
    func waitForReports(_ count: Int) throws {
        let goal = reports.count + count
        var known = reports.count
        var limit = ContinuousClock.now + .seconds(120)
        while reports.count < goal {
            if reports.count > known {
                known = reports.count
                limit = ContinuousClock.now + .seconds(120)
            }
            guard ContinuousClock.now < limit else { throw Finding("no process makes progress\n" + stacks()) }
            for child in children where !child.isRunning { throw Finding("a process ended by itself with status \(child.terminationStatus)") }
            usleep(2000)
        }
    }

    /// The stacks of all threads of the processes, if gdb is installed. A process group that makes no progress may not do so again.
    private func stacks() -> String {
        children.map { child in
            let output = Pipe()
            let debugger = Process()
            debugger.executableURL = URL(fileURLWithPath: "/usr/bin/gdb")
            debugger.arguments = ["-p", "\(child.processIdentifier)", "-batch", "-ex", "thread apply all bt"]
            (debugger.standardOutput, debugger.standardError) = (output, FileHandle.nullDevice)
            guard (try? debugger.run()) != nil else { return "Install gdb to see the stack of process \(child.processIdentifier)." }
            return "process \(child.processIdentifier):\n" + String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }.joined(separator: "\n")
    }

    /// Stops a process, or the one that has the turn, continues it after a while, and waits until a process makes progress.
    func stopAndContinue(_ number: Int) throws {
        let holder = Bool.random() ? holder : nil
        let process = holder ?? children[number].processIdentifier
        stopCount += 1
        if holder != nil { holderStopCount += 1 }
        kill(process, SIGSTOP)
        usleep(.random(in: 1000...50_000))
        kill(process, SIGCONT)
        try waitForReports(1)
    }

    /// The process that took the turn last, if it runs. `Docs/FileFormat.md` describes the file `lock`.
    private var holder: pid_t? {
        guard let store, let bytes = FileManager.default.contents(atPath: store + "/lock"), bytes.count >= 32 else { return nil }
        let number = bytes[24..<32].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return children.first { $0.isRunning && UInt64($0.processIdentifier) == number }?.processIdentifier
    }

    /// Kills a process and starts another one in its place.
    func replace(_ number: Int) throws {
        killCount += 1
        kill(children[number].processIdentifier, SIGKILL)
        children[number].waitUntilExit()
        guard children[number].terminationReason == .uncaughtSignal, children[number].terminationStatus == SIGKILL else {
            throw Finding("a process ended by itself with status \(children[number].terminationStatus)")
        }
        children[number] = try child(number)
    }

    /// Kills all processes. Returns the lines that were not taken yet, after the reports are read to the end.
    func end() -> [String] {
        for child in children {
            if child.isRunning {
                killCount += 1
                kill(child.processIdentifier, SIGKILL)
            }
            child.waitUntilExit()
        }
        for reader in readers { while !reader.isFinished { usleep(1000) } }
        children = []
        readers = []
        return reports.take()
    }
}
