import Foundation
import HornbeamGenerator
import HornbeamLists
import HornbeamModel

extension Command {
    static let generate = Command(
        name: "generate",
        summary: "write Swift classes for a model",
        help: """
            Usage: hornbeam generate MODEL --output FOLDER [options]

            MODEL is an .xcdatamodeld, an .xcdatamodel, a JSON model or a store. The same model always produces the same files. Existing
            files without the first line of generated files are written by hand and are not overwritten.

            Options:
              --style macro        a class with @Entity for each entity; the classes then define the model (the default)
              --style tokens       a class with tokens and accessors for each entity, and the model beside them
              --style extensions   an extension with tokens and accessors for each entity, and a class to write in
              --access public      classes that other modules can use (default: internal)
              --name NAME          the name of the model (default: the name of its file)
              --single-file        everything in one file NAMEModel.swift, for build plug-ins

            Examples:
              hornbeam generate Shop.xcdatamodeld --output Sources/Shop
              hornbeam generate Shop.hornbeam --output Sources/Shop --style tokens --access public
            """
    ) { arguments in
        let style = try arguments.choice("--style", of: CodeStyle.self) ?? .macro
        let access = try arguments.choice("--access", of: CodeAccess.self) ?? .internal
        let givenName = try arguments.option("--name")
        let isSingleFile = arguments.flag("--single-file")
        guard let folder = try arguments.option("--output") else { throw UsageError("--output FOLDER is missing") }
        let path = try arguments.word("MODEL")
        try arguments.finish()
        let name = givenName ?? URL(filePath: path).deletingPathExtension().lastPathComponent
        guard ModelGenerator.isUsable(name) else {
            throw UsageError("'\(name)' cannot be part of a type's name; give another one with --name")
        }
        let model = try ModelFile(path)
        let generator = ModelGenerator(try model.definition(), name: name, style: style, access: access)
        let files = isSingleFile ? [try generator.singleFile()] : try generator.files()
        for (name, outcome) in try GeneratedFiles(files).write(to: URL(filePath: folder)) { Console.printLine("\(outcome.rawValue.padded(to: 7))  \(name)") }
        for note in model.notes { Console.printError("note: \(note.message)") }
        for omission in generator.omissions { Console.printError("note: \(omission)") }
    }
}

extension Arguments {
    /// The value of an option with a fixed set of values.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(UsageError) -> Choice? where Choice.RawValue == String {
        guard let text = try option(name) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("\(name) is one of \(known), not '\(text)'")
    }
}
