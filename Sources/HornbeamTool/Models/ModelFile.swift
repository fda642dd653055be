import Foundation
import HornbeamModel
import HornbeamStore
import HornbeamXcodeModels

/// A model from any source: Xcode's files, JSON, or a store.
enum ModelFile {
    case xcode(XcodeModel, path: String)
    case json(Data, path: String)
    case store(ManagedObjectModel, path: String)

    /// Reads the model at the path: an `.xcdatamodeld` (its current version), an `.xcdatamodel` or its
    /// `contents`, a store folder, else JSON.
    init(_ path: String) throws {
        let url = URL(filePath: path)
        if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) || url.lastPathComponent == "contents" {
            self = try Self.xcodeModel(url)
        } else if Self.isFolder(path) {
            self = .store(try StoreInspection.withStore(path) { $0.model }, path: path)
        } else {
            do {
                self = .json(try Data(contentsOf: url), path: path)
            } catch {
                throw CommandFailure("The model '\(path)' cannot be read: check that it exists and may be read.")
            }
        }
    }

    private static func xcodeModel(_ url: URL) throws -> ModelFile {
        guard url.pathExtension == "xcdatamodeld" else {
            let isContents = url.lastPathComponent == "contents"
            return .xcode(try XcodeModel(contentsOf: url), path: isContents ? url.path : "\(url.path)/contents")
        }
        let bundle = try XcodeModelBundle(contentsOf: url)
        let version = bundle.url(ofVersion: bundle.currentVersionName)
        return .xcode(try XcodeModel(contentsOf: version), path: "\(version.path)/contents")
    }

    /// The versions of a model: those of an `.xcdatamodeld`, or the JSON files of a folder that is not a store; nil for a single model.
    static func versions(_ path: String) throws -> VersionedModel? {
        let url = URL(filePath: path)
        if url.pathExtension == "xcdatamodeld" { return try VersionedModel(xcodeModelsAt: url) }
        guard isFolder(path), url.pathExtension != "xcdatamodel" else { return nil }
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        guard !names.contains("meta"), names.contains(where: { $0.hasSuffix(".json") }) else { return nil }
        return try VersionedModel(contentsOf: url)
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The model as declared, valid or not.
    func definition() throws -> ModelDefinition {
        switch self {
        case .xcode(let model, _): model.definition
        case .json(let data, _): try ModelDefinition(json: data)
        case .store(let model, _): model.definition
        }
    }

    /// All errors and warnings, errors first, each with file and, if known, line.
    func issues() -> [ModelIssue] {
        switch self {
        case .json(let data, let path): ModelLint.issues(inJSON: data, file: path)
        case .xcode(let model, let path): Self.named(model.lint(), path)
        case .store(let model, let path): Self.named(ModelLint.issues(in: model.definition), path)
        }
    }

    /// The parts that the reader omitted or inferred.
    var notes: [ModelIssue] {
        if case .xcode(let model, let path) = self { Self.named(model.notes, path) } else { [] }
    }

    private static func named(_ issues: [ModelIssue], _ path: String) -> [ModelIssue] {
        issues.map { issue in
            var issue = issue
            issue.file = path
            return issue
        }
    }
}
