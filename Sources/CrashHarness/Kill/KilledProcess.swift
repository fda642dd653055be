import Foundation

/// A child that writes to a store and is killed at a random moment.
struct KilledProcess {
    private let level: KillChild.Level
    private let path: String
    private let seed: UInt64
    /// The maximum time from the first report to the kill, in microseconds.
    private let delayMax: Int

    init(_ level: KillChild.Level, _ path: String, _ seed: UInt64, delayMax: Int = 60_000) {
        (self.level, self.path, self.seed, self.delayMax) = (level, path, seed, delayMax)
    }

    /// Runs the child, and returns the numbers that it reported before it was killed.
    func run() throws -> [UInt64] {
        let child = Process()
        let reports = Pipe()
        child.executableURL = Supervisor.executable
        child.arguments = [
            KillChild.command, "--level", level.rawValue, "--path", path, "--seed", String(seed),
        ]
        child.standardOutput = reports
        child.standardInput = FileHandle.nullDevice
        try child.run()
        let killsEarly = Int.random(in: 0..<4) == 0
        if killsEarly { kill(child, afterMicroseconds: .random(in: 10_000...80_000)) }
        var text = Data()
        while true {
            let data = reports.fileHandleForReading.availableData
            if data.isEmpty { break }
            if text.isEmpty, !killsEarly { kill(child, afterMicroseconds: .random(in: 0...delayMax)) }
            text.append(data)
        }
        child.waitUntilExit()
        guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
            throw Finding("The writing process ended by itself with status \(child.terminationStatus).")
        }
        let whole = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return whole.compactMap { UInt64($0) }
    }

    private func kill(_ child: Process, afterMicroseconds delay: Int) {
        let identifier = child.processIdentifier
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) { Foundation.kill(identifier, SIGKILL) }
    }
}
