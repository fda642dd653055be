public import Foundation

/// The shipped versions of a model, the oldest first, with the current one (MIG-13).
///
/// ```swift
/// let versions = try VersionedModel([first, second, third])
/// let container = try PersistentContainer(name: "Company", versions: versions)
/// ```
/// A store of an older version is migrated from version to version, one step at a time (MIG-14). A completed step is durable:
/// an interrupted migration continues with the next step.
public struct VersionedModel: Sendable {
    /// The versions, the oldest first.
    public let versions: [ManagedObjectModel]
    /// The name of each version: the name of its file, else its version identifiers, else its number.
    public let names: [String]
    private let currentIndex: Int

    /// The versions of a model, the oldest first; the last is the current one.
    ///
    /// - Throws: `modelsDiffer` when `versions` is empty, or when two versions have equal version hashes.
    public init(_ versions: [ManagedObjectModel]) throws {
        let names = versions.enumerated().map { position, version in
            version.versionIdentifiers.isEmpty ? "\(position + 1)" : version.versionIdentifiers.sorted().joined(separator: ", ")
        }
        try self.init(versions, names: names, current: nil)
    }

    /// - Parameter current: The name of the current version; nil for the last.
    package init(_ versions: [ManagedObjectModel], names: [String], current: String?) throws {
        var seen: [String: Int] = [:]
        for (position, version) in versions.enumerated() {
            if let other = seen.updateValue(position, forKey: version.versionChecksum) {
                throw HornbeamError(
                    .modelsDiffer,
                    "Versions “\(names[other])” and “\(names[position])” have equal version hashes, so a store could have either. Leave one "
                        + "out, or give an entity a version hash modifier.")
            }
        }
        guard !versions.isEmpty else { throw HornbeamError(.modelsDiffer, "A versioned model has at least one version.") }
        guard let index = current.map({ names.firstIndex(of: $0) }) ?? versions.count - 1 else {
            throw HornbeamError(
                .modelReferenceNotFound,
                "The current version “\(current ?? "")” does not exist: there are "
                    + names.map { "“\($0)”" }.joined(separator: ", ") + ".")
        }
        self.versions = versions
        self.names = names
        currentIndex = index
    }

    /// The models in the JSON files of a folder, sorted by name, with numbers by value: `Shop`, `Shop 2`, `Shop 10`.
    ///
    /// - Parameter current: The name of the current version's file, without its extension; nil for the last one.
    /// - Throws: `malformedModelFile` for an unreadable folder; `modelReferenceNotFound` when no file has the name `current`; the errors of
    ///   `ManagedObjectModel(contentsOf:)` and `init`.
    public init(contentsOf folder: URL, current: String? = nil) throws {
        let files: [URL]
        do {
            files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        } catch {
            throw HornbeamError(
                .malformedModelFile, "The folder of models \(folder.lastPathComponent) cannot be read. Check that it exists.", cause: "\(error)")
        }
        let models = files.filter { $0.pathExtension == "json" }
            .sorted { VersionName($0) < VersionName($1) }
        try self.init(
            models.map { try ManagedObjectModel(contentsOf: $0) }, names: models.map { $0.deletingPathExtension().lastPathComponent },
            current: current)
    }

    /// The version that the app uses.
    public var current: ManagedObjectModel { versions[currentIndex] }

    /// The name of the version that the app uses.
    public var currentName: String { names[currentIndex] }

    /// The version with a checksum; nil when no version has it.
    public func version(withChecksum checksum: String) -> ManagedObjectModel? { versions.first { $0.versionChecksum == checksum } }
}

/// The name of a version's file, sorted with its number by value: `Shop`, `Shop 2`, `Shop 10`.
package struct VersionName: Comparable {
    private let text: String
    private let number: Int
    /// Distinguishes `Shop 2` from `Shop2`.
    private let whole: String

    package init(_ name: String) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }
        text = String(name.dropLast(digits.count)).trimmingCharacters(in: .whitespaces)
        number = Int(String(digits.reversed())) ?? 0
        whole = name
    }

    fileprivate init(_ url: URL) { self.init(url.deletingPathExtension().lastPathComponent) }

    package static func < (one: VersionName, other: VersionName) -> Bool {
        (one.text, one.number, one.whole) < (other.text, other.number, other.whole)
    }
}
