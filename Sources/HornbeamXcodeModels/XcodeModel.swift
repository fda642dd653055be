public import Foundation
public import HornbeamModel

/// One version of a model in Xcode's format: the `contents` file of an `.xcdatamodel`.
///
/// ```swift
/// let model = try ManagedObjectModel(xcodeModelAt: URL(filePath: "Shop.xcdatamodeld"))
/// ```
/// The reader is tolerant: it ignores unknown parts and lists them in `notes`. `ManagedObjectModel` and `lint()` check
/// whether the model is valid.
public struct XcodeModel: Sendable {
    /// The model in the file.
    public let definition: ModelDefinition
    /// The parts that the reader ignored or interpreted, with lines.
    public let notes: [ModelIssue]
    /// The path of the file in the issues.
    public let file: String
    /// True when the model is marked for use with CloudKit.
    public let isUsedWithCloudKit: Bool
    let lines: SourceLines

    /// Reads the current version of an `.xcdatamodeld`, an `.xcdatamodel`, or a `contents` file.
    ///
    /// - Throws: `HornbeamError` with code `inputOutput` or `malformedModelFile`.
    public init(contentsOf url: URL) throws {
        switch url.pathExtension {
        case "xcdatamodeld":
            let bundle = try XcodeModelBundle(contentsOf: url)
            try self.init(contentsOf: bundle.url(ofVersion: bundle.currentVersionName))
        case "xcdatamodel": try self.init(contentsFile: url.appending(path: "contents"))
        default: try self.init(contentsFile: url)
        }
    }

    private init(contentsFile url: URL) throws {
        let folder = url.deletingLastPathComponent().lastPathComponent
        let file = "\(folder)/\(url.lastPathComponent)"
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw HornbeamError(
                .inputOutput, "The model file “\(file)” cannot be read: check that it exists and may be read.",
                cause: "\(error)")
        }
        try self.init(contents: data, file: file)
    }

    /// Reads the bytes of a `contents` file.
    ///
    /// - Parameter file: The path in issues and errors.
    public init(contents: Data, file: String = "contents") throws {
        let root = try XMLElementTree.parse(contents, file: file)
        guard root.name == "model" else {
            throw HornbeamError(
                .malformedModelFile,
                "“\(file)” is not a model: its root element is <\(root.name)> and not <model>.")
        }
        var reader = XcodeModelReader()
        definition = reader.read(root)
        notes = reader.notes.map { note in
            var note = note
            note.file = file
            return note
        }
        lines = reader.lines
        isUsedWithCloudKit = root.attributes["usedWithCloudKit"].map { ["YES", "true", "1"].contains($0) } ?? false
        self.file = file
    }

    /// All errors and warnings of the model, errors first, each with file and line.
    public func lint() -> [ModelIssue] {
        let unreadable = notes.filter { $0.severity == .error }
        let issues = ModelLint.issues(in: definition).filter { issue in
            // The reader has already reported unreadable parts.
            !unreadable.contains { $0.entity == issue.entity && $0.key == issue.key }
        }
        return ModelLint.located(notes + issues, file: file, line: lines.line)
    }
}

extension ManagedObjectModel {
    /// Reads an `.xcdatamodeld` (its current version), an `.xcdatamodel` or a `contents` file, and checks it (MDL-4).
    ///
    /// `notes` lists the parts that were ignored or interpreted.
    /// - Throws: `HornbeamError` with code `inputOutput`, `malformedModelFile` or `invalidModel`.
    public convenience init(xcodeModelAt url: URL) throws {
        try self.init(XcodeModel(contentsOf: url))
    }

    /// Makes a model of a model file that was read, and checks it.
    ///
    /// - Throws: `HornbeamError` with code `invalidModel`.
    public convenience init(_ model: XcodeModel) throws {
        try self.init(model.definition, notes: model.notes)
    }
}

/// The lines of entities and properties in the file.
struct SourceLines: Sendable {
    private struct Place: Hashable {
        let entity: String?
        let key: String?
    }
    private var lines: [Place: Int] = [:]

    mutating func note(_ line: Int, entity: String? = nil, key: String? = nil) {
        let place = Place(entity: entity, key: key)
        if lines[place] == nil { lines[place] = line }
    }

    /// The line of a property, or of its entity if the property has no line.
    func line(entity: String?, key: String?) -> Int? {
        lines[Place(entity: entity, key: key)] ?? lines[Place(entity: nil, key: key)]
            ?? lines[Place(entity: entity, key: nil)]
    }
}
