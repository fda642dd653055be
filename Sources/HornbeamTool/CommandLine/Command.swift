import HornbeamLists

/// One subcommand of the tool.
struct Command: Sendable {
    let name: String
    /// A short summary for the list of commands.
    let summary: String
    /// The output of `hornbeam help NAME` below the summary: usage, options, examples.
    let help: String
    /// Hidden commands are used by the tool itself and are not listed.
    var isHidden = false
    let run: @MainActor @Sendable (inout Arguments) async throws -> Void
}

extension Command {
    /// All subcommands, in the order of the help text.
    static let all: [Command] = [
        .demo, .importCatalogue, .query, .list, .explain, .info, .check, .dump, .backup, .pack, .unpack, .compact, .salvage, .model, .generate, .migrate,
        .durabilityChild,
    ]

    static func named(_ name: String) throws(UsageError) -> Command {
        if let command = all.first(where: { $0.name == name }) { return command }
        let listed = all.filter { !$0.isHidden }.map(\.name) + ["help"]
        let hint = Spelling.nearest(to: name, among: listed).map { "; did you mean '\($0)'?" } ?? ""
        throw UsageError("there is no command '\(name)'\(hint)")
    }

    /// The text of `hornbeam help`.
    static var overview: String {
        let listed = all.filter { !$0.isHidden }
        let width = listed.map(\.name.count).max() ?? 0
        let lines = listed.map { "  \($0.name.padded(to: width))   \($0.summary)" }
        return """
            hornbeam: inspects and maintains Hornbeam stores, and demonstrates Hornbeam.

            Usage: hornbeam COMMAND …

            \(lines.joined(separator: "\n"))
              \("help".padded(to: width))   explain a command: hornbeam help COMMAND

            Exit status: 0 done, 1 failed (one sentence on standard error), 2 the command line is wrong.
            """
    }

    /// The text of `hornbeam help NAME`.
    var fullHelp: String { "hornbeam \(name): \(summary).\n\n\(help)" }
}
