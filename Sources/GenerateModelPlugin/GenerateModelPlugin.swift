import Foundation
import PackagePlugin

/// `swift package generate-model MODEL --output FOLDER …`: the command `hornbeam generate` for a package.
@main struct GenerateModelPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let process = Process()
        process.executableURL = try context.tool(named: "hornbeam").url
        process.arguments = ["generate"] + arguments
        process.currentDirectoryURL = context.package.directoryURL
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 { Diagnostics.error("hornbeam generate ended with status \(process.terminationStatus); see above.") }
    }
}
