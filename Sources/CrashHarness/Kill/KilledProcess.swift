import Foundation

/// A child that writes to a store and is killed, at a random moment or by itself.
struct KilledProcess {
    private let words: [String]
    /// The maximum time from the first report to the kill, in microseconds.
    private let delayMax: Int

    /// - Parameter words: The command line of the child.
    init(_ words: [String], delayMax: Int = 60_000) { (self.words, self.delayMax) = (words, delayMax) }

    /// A child that commits, and reports numbers.
    init(_ level: KillChild.Level, _ path: String, _ seed: UInt64, delayMax: Int = 60_000) {
        self.init([KillChild.command, "--level", level.rawValue, "--path", path, "--seed", String(seed)], delayMax: delayMax)
    }

    /// Runs the child, kills it at a random moment, and returns the lines that it reported before.
    func run() throws -> [String] {
        let (child, reports) = try start()
        let killsEarly = Int.random(in: 0..<4) == 0
        if killsEarly { kill(child, afterMicroseconds: .random(in: 10_000...80_000)) }
        let lines = Self.lines(of: reports) { if !killsEarly { kill(child, afterMicroseconds: .random(in: 0...delayMax)) } }
        child.waitUntilExit()
        guard Self.wasKilled(child) else { throw Finding("The writing process ended by itself with status \(child.terminationStatus).") }
        return lines
    }

    /// Runs a child that kills itself, and returns the lines that it reported before. Returns nil if the child ended its work instead.
    func runToStep() throws -> [String]? {
        let (child, reports) = try start()
        let lines = Self.lines(of: reports) {}
        child.waitUntilExit()
        if Self.wasKilled(child) { return lines }
        guard child.terminationReason == .exit, child.terminationStatus == 0 else {
            throw Finding("The writing process ended with status \(child.terminationStatus).")
        }
        return nil
    }

    private func start() throws -> (Process, Pipe) {
        let child = Process()
        let reports = Pipe()
        child.executableURL = Supervisor.executable
        child.arguments = words
        child.standardOutput = reports
        child.standardInput = FileHandle.nullDevice
        try child.run()
        return (child, reports)
    }

    /// The complete lines that the child writes until it ends. Calls `begun` at the first one.
    private static func lines(of reports: Pipe, _ begun: () -> Void) -> [String] {
        var text = Data()
        while true {
            let data = reports.fileHandleForReading.availableData
            if data.isEmpty { break }
            if text.isEmpty { begun() }
            text.append(data)
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    private static func wasKilled(_ child: Process) -> Bool {
        child.terminationReason == .uncaughtSignal && child.terminationStatus == SIGKILL
    }

    private func kill(_ child: Process, afterMicroseconds delay: Int) {
        let identifier = child.processIdentifier
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) { Foundation.kill(identifier, SIGKILL) }
    }
}
