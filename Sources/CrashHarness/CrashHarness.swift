import Foundation

/// The crash-recovery harness: injects faults into stores in many ways, judges the results, and counts the cases.
@main struct CrashHarness {
    /// All modes, in the order of the usage text and of `Scripts/torture`.
    static var modes: [any Mode.Type] {
        [
            SimulateMode.self, PairsMode.self, SyncsMode.self, FlipMode.self, HostileMode.self, KillMode.self, ProcessesMode.self,
            DocumentMode.self, SchedulesMode.self, DifferentialMode.self, FuzzMode.self, StressMode.self, SoakMode.self, ReleaseMode.self,
        ] + ServerStores.modes
    }

    static func main() {
        // Without this, a write to a pipe that has no reader ends the process instead of failing with an error.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs one command line and returns the exit status: 0 without a finding, 1 after a finding or a failure, 2 for wrong usage.
    static func run(_ words: [String]) -> Int32 {
        do {
            let options = try HarnessOptions(words)
            switch options.command {
            case "help": Terminal.printLine(usage)
            case "modes": Terminal.printLine(modes.map { $0.name }.joined(separator: "\n"))
            case "figures": try showFigures(options)
            case KillChild.command: return try KillChild(options).run()
            case DocumentChild.command: return try DocumentChild(options).run()
            case ProcessesChild.command: return try ProcessesChild(options).run()
            case LedgerChild.command: return try LedgerChild(options).run()
            case CountersChild.command: return try CountersChild(options).run()
            default: return try perform(mode(options.command), options, words)
            }
            return 0
        } catch let error as UsageError {
            Terminal.printError("crash-harness: \(error.message). See 'crash-harness help'.")
            return 2
        } catch {
            Terminal.printError("crash-harness: \(error)")
            return 1
        }
    }

    private static func showFigures(_ options: HarnessOptions) throws {
        let table = FiguresTable(try FiguresFile(options.requiredFigures).read())
        if let path = options.extras["document"] { try FiguresDocument(path: path).show(table) }
        Terminal.printLine(table.text)
    }

    /// Runs the mode in a child process, so that a trap or a hang is reported as a finding. A replay runs in this process.
    private static func perform(_ mode: any Mode.Type, _ options: HarnessOptions, _ words: [String]) throws -> Int32 {
        let run = try Run(mode, options)
        if options.replay != nil || options.trail != nil { return try run.perform() }
        return try Supervisor(options, words: words).run()
    }

    private static func mode(_ name: String) throws -> any Mode.Type {
        guard let mode = modes.first(where: { $0.name == name }) else { throw UsageError("there is no mode '\(name)'") }
        return mode
    }

    static var usage: String {
        let width = modes.map { $0.name.count }.max() ?? 0
        let list = modes.map { "  " + $0.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.summary }
        return """
            Usage: crash-harness MODE [--seconds S] [--count N] [--seed N] [--figures FILE] [--replay CASE] [--only migrations]
                   crash-harness figures --figures FILE [--document FILE]
                   crash-harness modes

            \(list.joined(separator: "\n"))

              --seconds S     stop after S seconds (default: 10, unless a count is given)
              --count N       stop after N cases
              --seed N        the first seed; rounds go on with N + 1 … (default: a random one, which is printed)
              --figures FILE  add the counts of this run to the totals in FILE; several runs may share the file
              --replay CASE   run only this case of the seed; a finding prints its CASE
              --only migrations  in simulate, kill and flip: use only stores that are migrated
              --document FILE write the table of totals into this Markdown document

            The status is 0 when nothing was found, 1 after a finding, 2 for wrong usage.
            """
    }
}
