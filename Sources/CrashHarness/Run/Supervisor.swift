import Foundation

/// Runs a mode in a child process, and reports a trap or hang of the child as a finding.
struct Supervisor {
    private let options: HarnessOptions
    private let program: URL
    private let words: [String]
    /// The longest time for a case. A longer one is a hang.
    private let caseSecondsMax: Double

    /// - Parameter program: The executable of the child. It gets `words` and the path of the trail as arguments.
    init(
        _ options: HarnessOptions, program: URL = Self.executable, words: [String], caseSecondsMax: Double = 300
    ) {
        (self.options, self.program, self.words, self.caseSecondsMax) = (options, program, words, caseSecondsMax)
    }

    /// Runs the child, and returns its exit status, or 1 after a trap or a hang.
    func run() throws -> Int32 {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("crash-harness-\(UInt64.random(in: 0 ... .max)).trail").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let trail = try Trail(path: path)
        let child = Process()
        child.executableURL = program
        child.arguments = words + ["--trail", path]
        child.standardInput = FileHandle.nullDevice
        var environment = ProcessInfo.processInfo.environment
        // The backtracer of the Swift runtime takes minutes. A replay prints the backtrace.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        // Every recovery allocates and frees the same few large blocks. It would be slower if the C library returned them to the system each time.
        environment["MALLOC_MMAP_THRESHOLD_"] = String(64 << 20)
        environment["MALLOC_TRIM_THRESHOLD_"] = String(256 << 20)
        child.environment = environment
        try child.run()
        let hangs = watch(child, trail)
        child.waitUntilExit()
        if hangs { return try finding("the case hangs", trail) }
        guard child.terminationReason == .uncaughtSignal else { return child.terminationStatus }
        return try finding("the process ended by signal \(child.terminationStatus)", trail)
    }

    /// The path of this executable. In tests, the path of the executable that was built with them.
    static var executable: URL {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let url = URL(fileURLWithPath: path)
        return url.pathExtension == "xctest" ? url.deletingLastPathComponent().appendingPathComponent("crash-harness") : url
    }

    /// Waits until the child has ended. Returns true if it was killed because it made no progress.
    private func watch(_ child: Process, _ trail: Trail) -> Bool {
        var notes = trail.notes
        var since = ContinuousClock.now
        while child.isRunning {
            usleep(20_000)
            if trail.notes != notes {
                notes = trail.notes
                since = .now
            } else if ContinuousClock.now - since > .seconds(caseSecondsMax) {
                kill(child.processIdentifier, SIGKILL)
                return true
            }
        }
        return false
    }

    private func finding(_ what: String, _ trail: Trail) throws -> Int32 {
        Terminal.printError("finding: \(what)\nreplay: \(options.replayCommand(trail.seed, trail.name))")
        var sums = FiguresFile.ModeSums()
        sums.runs = 1
        sums.findings = 1
        sums.commits = [Commit.current]
        if let path = options.figures { try FiguresFile(path).add(sums, to: options.command) }
        return 1
    }
}
