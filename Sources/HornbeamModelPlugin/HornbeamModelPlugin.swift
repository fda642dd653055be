import Foundation
import PackagePlugin

/// Makes classes of the models in a target when it is built: of each `.xcdatamodeld`, and of each JSON model.
///
/// `Shop.xcdatamodeld` gives the classes of its entities and `ShopModel`, which has the model and the list of classes.
@main struct HornbeamModelPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let tool = try context.tool(named: "ModelPluginTool").url
        return try Model.all(in: target.directoryURL).map { model in
            let output = context.pluginWorkDirectoryURL.appending(path: "\(model.name)Model.swift")
            return .buildCommand(
                displayName: "Writing the classes of \(model.url.lastPathComponent)", executable: tool,
                arguments: ["file", model.url.path, model.name, output.path], inputFiles: model.files, outputFiles: [output])
        }
    }
}

/// A model in the folder of a target.
private struct Model {
    let url: URL
    var name: String { url.deletingPathExtension().lastPathComponent }

    /// All models below a folder, sorted by path.
    static func all(in folder: URL) throws -> [Model] {
        let entries = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.isDirectoryKey])
        return try entries.sorted { $0.path < $1.path }.flatMap { entry -> [Model] in
            switch entry.pathExtension {
            case "xcdatamodeld", "xcdatamodel": return [Model(url: entry)]
            case "json": return isModel(entry) ? [Model(url: entry)] : []
            default: return try isFolder(entry) ? all(in: entry) : []
            }
        }
    }

    /// The files whose change makes the classes out of date.
    var files: [URL] {
        guard Self.isFolder(url), let paths = FileManager.default.enumerator(atPath: url.path) else { return [url] }
        return paths.compactMap { $0 as? String }.sorted().map { url.appending(path: $0) }.filter { !Self.isFolder($0) }
    }

    /// Targets may contain other JSON files: a model has the member that names its format.
    private static func isModel(_ url: URL) -> Bool {
        guard let data = try? Data(contentsOf: url), let members = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            return false
        }
        return members["hornbeamModel"] != nil
    }

    private static func isFolder(_ url: URL) -> Bool {
        (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true
    }
}
