import Foundation

/// The command-line tool `hornbeam`.
@main struct Tool {
    @MainActor static func main() async {
        // A write to a pipe without a reader returns an error and does not end the process.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs one command line and returns the exit status: 0 success, 1 failure, 2 wrong usage.
    @MainActor static func run(_ words: [String]) async -> Int32 {
        guard let first = words.first else {
            Console.printError(Command.overview)
            return 2
        }
        do {
            try await dispatch(first, Array(words.dropFirst()))
            return 0
        } catch let error as UsageError {
            let command = (try? Command.named(first)).map { " \($0.name)" } ?? ""
            Console.printError("hornbeam\(command): \(error.message). See 'hornbeam help\(command)'.")
            return 2
        } catch {
            Console.printError("hornbeam: \(FailureText.describe(error))")
            return 1
        }
    }

    @MainActor private static func dispatch(_ name: String, _ words: [String]) async throws {
        if ["help", "--help", "-h"].contains(name) {
            Console.printLine(try words.first.map { try Command.named($0).fullHelp } ?? Command.overview)
            return
        }
        let command = try Command.named(name)
        var arguments = Arguments(words)
        if arguments.flag("--help") || arguments.flag("-h") {
            Console.printLine(command.fullHelp)
            return
        }
        try await command.run(&arguments)
    }
}
