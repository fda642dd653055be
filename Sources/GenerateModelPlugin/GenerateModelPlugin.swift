import Foundation
import PackagePlugin

/// `swift package generate-model MODEL --output FOLDER [--style macro|tokens|extensions] [--access internal|public] [--name NAME]`
/// writes Swift classes for an Xcode or JSON model into the package. `hornbeam generate` also reads stores.
@main struct GenerateModelPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        var extractor = ArgumentExtractor(arguments)
        let output = extractor.extractOption(named: "output").last
        let style = extractor.extractOption(named: "style").last ?? "macro"
        let access = extractor.extractOption(named: "access").last ?? "internal"
        let givenName = extractor.extractOption(named: "name").last
        guard let output, let model = extractor.remainingArguments.first, extractor.remainingArguments.count == 1 else {
            return Diagnostics.error("Usage: swift package generate-model MODEL --output FOLDER [--style …] [--access …] [--name NAME]")
        }
        let folder = context.package.directoryURL
        let source = URL(filePath: model, relativeTo: folder)
        let process = Process()
        process.executableURL = try context.tool(named: "ModelPluginTool").url
        process.arguments = [
            "folder", source.path, givenName ?? source.deletingPathExtension().lastPathComponent,
            URL(filePath: output, relativeTo: folder).path, style, access,
        ]
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 { Diagnostics.error("The classes were not written; see above.") }
    }
}
