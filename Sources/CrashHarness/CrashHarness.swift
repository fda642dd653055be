import Foundation

/// The crash-recovery harness: tries to break a store in every way it knows, and counts how often it tried.
@main struct CrashHarness {
    /// Every way of trying; the usage text and `Scripts/torture` list them in this order.
    static var modes: [any Mode.Type] { [SimulateMode.self, SchedulesMode.self] }

    static func main() {
        // A pipe whose reader went away is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs one command line and returns the exit status: 0 nothing found, 1 a finding or a failure, 2 wrong usage.
    static func run(_ words: [String]) -> Int32 {
        do {
            let options = try HarnessOptions(words)
            switch options.command {
            case "help": Terminal.line(usage)
            case "figures": Terminal.line(FiguresTable(try FiguresFile(options.requiredFigures).read()).text)
            default: return try Run(mode(options.command), options).perform()
            }
            return 0
        } catch let error as UsageError {
            Terminal.complain("crash-harness: \(error.message). See 'crash-harness help'.")
            return 2
        } catch {
            Terminal.complain("crash-harness: \(error)")
            return 1
        }
    }

    private static func mode(_ name: String) throws -> any Mode.Type {
        guard let mode = modes.first(where: { $0.name == name }) else { throw UsageError("there is no mode '\(name)'") }
        return mode
    }

    static var usage: String {
        let width = modes.map { $0.name.count }.max() ?? 0
        let list = modes.map { "  " + $0.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.summary }
        return """
            Usage: crash-harness MODE [--seconds S] [--count N] [--seed N] [--figures FILE] [--replay CASE]
                   crash-harness figures --figures FILE

            \(list.joined(separator: "\n"))

              --seconds S     stop after so many seconds (10 unless a count is given)
              --count N       stop when so many cases were tried
              --seed N        the first seed; rounds go on with N + 1 … (default: a random one, which is printed)
              --figures FILE  add what was tried to the sums in this file; several runs may do so at once
              --replay CASE   only this case of the seed, as a finding printed it

            The status is 0 when nothing was found, 1 after a finding, 2 for wrong usage.
            """
    }
}
