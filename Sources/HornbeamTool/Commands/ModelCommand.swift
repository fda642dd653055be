import Foundation
import HornbeamModel

extension Command {
    static let model = Command(
        name: "model",
        summary: "check, show, compare and convert models",
        help: """
            Usage: hornbeam model lint MODEL
                   hornbeam model show MODEL
                   hornbeam model diff OLD NEW
                   hornbeam model convert MODEL [--output FILE]

            A MODEL is an .xcdatamodeld (its current version), an .xcdatamodel, a JSON file, or a store.

              lint       print errors and warnings, with file, line and a hint; ends with status 1 if there
                         are errors
              show       print the entities with their properties, a line each
              diff       print what changed from OLD to NEW, which entities a store has to migrate, and whether it is migrated without
                         code; ends with status 1 when it is not
              convert    print the model as JSON, which ManagedObjectModel(contentsOf:) reads

              --output FILE   write there instead; a file that exists is not touched

            Example: hornbeam model lint Shop.xcdatamodeld
            """,
        run: { arguments in
            let output = try arguments.option("--output")
            let verb = try arguments.word("what to do (lint, show, diff or convert)")
            if output != nil, verb != "convert" { throw UsageError("--output belongs to convert") }
            switch verb {
            case "lint": try lint(arguments.lastWord("the model"))
            case "show": Console.printLine(ModelOutline(definition: try ModelFile(arguments.lastWord("the model")).definition()).description)
            case "diff": try diff(from: arguments.word("the old model"), to: arguments.lastWord("the new model"))
            case "convert": try convert(arguments.lastWord("the model"), output)
            default:
                let hint = Spelling.nearest(to: verb, among: ["lint", "show", "diff", "convert"]).map { "; did you mean '\($0)'?" }
                throw UsageError("a model can be linted, shown, compared (diff) and converted, not '\(verb)'\(hint ?? "")")
            }
        })

    private static func lint(_ path: String) throws {
        let issues = try ModelFile(path).issues()
        issues.forEach { Console.printLine($0.description) }
        let errors = issues.count { $0.severity == .error }
        let found = "\(Figures.count(errors, "error")), \(Figures.count(issues.count - errors, "warning"))"
        guard errors == 0 else { throw CommandFailure("The model '\(path)' cannot be used as it is: \(found).") }
        Console.printLine("\(path): \(issues.isEmpty ? "no problems" : found)")
    }

    private static func diff(from old: String, to new: String) throws {
        let (before, after) = try (ModelFile(old).definition(), ModelFile(new).definition())
        let (source, destination) = try (ManagedObjectModel(before), ManagedObjectModel(after))
        let difference = try ModelDifference(from: source, to: destination)
        Console.printLine(difference.description)
        if difference.migratedEntities.isEmpty { return }
        if destination.precedesExchangedNames(of: source) {
            throw CommandFailure(
                "Stores of '\(old)' are not migrated: the model '\(new)' is the version before it, or it lacks the renaming identifiers of exchanged names.")
        }
        guard try MappingModel.inferred(from: source, to: destination).keepsEntities else {
            throw CommandFailure("Stores with objects are not migrated: the models have no entity in common. Set the renaming identifiers of renamed entities.")
        }
        Console.printLine("Stores are migrated when they are opened.")
    }

    private static func convert(_ path: String, _ output: String?) throws {
        let model = try ModelFile(path)
        let json = try model.definition().json()
        model.notes.forEach { Console.printError($0.description) }
        guard let output else { return _ = Console.write(String(decoding: json, as: UTF8.self), to: STDOUT_FILENO) }
        do {
            try json.write(to: URL(filePath: output), options: .withoutOverwriting)
        } catch {
            throw CommandFailure("'\(output)' cannot be written: choose a name that is not taken, in a folder that may be written to.")
        }
    }
}

extension Arguments {
    /// The next word, which must be the last.
    fileprivate mutating func lastWord(_ description: String) throws(UsageError) -> String {
        let word = try word(description)
        try finish()
        return word
    }
}
