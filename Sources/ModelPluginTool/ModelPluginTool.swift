import Foundation
import HornbeamGenerator
import HornbeamModel
import HornbeamXcodeModels

/// The tool of the plug-ins: `ModelPluginTool file MODEL NAME FILE` writes the classes of a model into one file,
/// `ModelPluginTool folder MODEL NAME FOLDER STYLE ACCESS` writes a file for each.
///
/// Apart from the tool `hornbeam`, since SwiftPM builds what a plug-in runs a second time, for the machine that compiles.
@main struct ModelPluginTool {
    static func main() {
        let words = CommandLine.arguments.dropFirst().map { $0 }
        guard let model = words.dropFirst().first else { return fail("ModelPluginTool is run by the plug-ins of Hornbeam.") }
        do {
            try run(words)
        } catch let error as HornbeamError {
            // In the form of a compiler's error, which build systems show beside the file.
            for problem in error.details.isEmpty ? [error] : error.details { complain("\(model): error: \(problem.message)") }
            exit(1)
        } catch {
            fail("\(model): error: \(error)")
        }
    }

    private static func run(_ words: [String]) throws {
        switch (words[0], words.count) {
        case ("file", 4):
            let file = URL(filePath: words[3])
            let text = try generator(words[1], words[2], .tokens, .internal).singleFile().text
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        case ("folder", 6):
            let style = try choice(words[4], of: CodeStyle.self)
            let files = try generator(words[1], words[2], style, choice(words[5], of: CodeAccess.self)).files()
            for (name, outcome) in try GeneratedFiles(files).write(to: URL(filePath: words[3])) { print("\(outcome.rawValue) \(name)") }
        default: throw HornbeamError(.unsupportedRequest, "ModelPluginTool is run by the plug-ins of Hornbeam.")
        }
    }

    private static func generator(_ model: String, _ name: String, _ style: CodeStyle, _ access: CodeAccess) throws -> ModelGenerator {
        guard ModelGenerator.isUsable(name) else {
            throw HornbeamError(
                .invalidModel, "The name “\(name)” cannot be part of a type's name. Begin it with a letter, and use letters and digits.")
        }
        return ModelGenerator(try definition(at: URL(filePath: model)), name: name, style: style, access: access)
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ word: String, of type: Choice.Type
    ) throws -> Choice where Choice.RawValue == String {
        if let choice = Choice(rawValue: word) { return choice }
        throw HornbeamError(.unsupportedRequest, "“\(word)” is none of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")).")
    }

    private static func definition(at url: URL) throws -> ModelDefinition {
        switch url.pathExtension {
        case "xcdatamodeld":
            let bundle = try XcodeModelBundle(contentsOf: url)
            return try XcodeModel(contentsOf: bundle.url(ofVersion: bundle.currentVersionName)).definition
        case "xcdatamodel": return try XcodeModel(contentsOf: url).definition
        default: return try ModelDefinition(json: Data(contentsOf: url))
        }
    }

    private static func fail(_ sentence: String) {
        complain(sentence)
        exit(1)
    }

    private static func complain(_ sentence: String) { FileHandle.standardError.write(Data((sentence + "\n").utf8)) }
}
