import Foundation
import HornbeamGenerator
import HornbeamModel
import HornbeamXcodeModels

/// What the build plug-in runs: `ModelPluginTool MODEL NAME FILE` writes the classes of a model into one file.
///
/// Apart from the tool `hornbeam`, so that a package with a model need not build the engine for the machine that compiles.
@main struct ModelPluginTool {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 3 else { return fail("usage: ModelPluginTool MODEL NAME FILE") }
        let words = Array(arguments)
        do {
            try write(modelAt: URL(filePath: words[0]), named: words[1], to: URL(filePath: words[2]))
        } catch let error as HornbeamError {
            // In the form of a compiler's error, which build systems show beside the file.
            for problem in error.details.isEmpty ? [error] : error.details { complain("\(words[0]): error: \(problem.message)") }
            exit(1)
        } catch {
            fail("\(words[0]): error: \(error)")
        }
    }

    private static func write(modelAt url: URL, named name: String, to file: URL) throws {
        guard ModelGenerator.isUsable(name) else {
            throw HornbeamError(
                .invalidModel, "The file's name “\(name)” cannot be part of a type's name. Begin it with a letter, and use letters and digits.")
        }
        let text = try ModelGenerator(definition(at: url), name: name, style: .tokens).singleFile().text
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
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
