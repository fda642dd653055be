public import Foundation

/// The versions of a model that were shipped, the oldest first; the last is the current one (MIG-13).
///
/// ```swift
/// let versions = try VersionedModel([first, second, third])
/// let container = try PersistentContainer(name: "Company", versions: versions)
/// ```
/// A store of an older version is migrated from version to version, each step by itself (MIG-14). A step that is finished stays so:
/// a migration that was interrupted goes on with the next one.
public struct VersionedModel: Sendable {
    /// The versions, the oldest first.
    public let versions: [ManagedObjectModel]

    /// The versions of a model, the oldest first.
    ///
    /// - Throws: `modelsDiffer` when there is none, or two versions cannot be told apart.
    public init(_ versions: [ManagedObjectModel]) throws {
        var seen: [String: Int] = [:]
        for (position, version) in versions.enumerated() {
            if let other = seen.updateValue(position, forKey: version.versionChecksum) {
                throw HornbeamError(
                    .modelsDiffer,
                    "Versions \(other + 1) and \(position + 1) describe the same rows, so that no store tells which it has. Leave one out, or "
                        + "give an entity a version hash modifier.")
            }
        }
        guard !versions.isEmpty else { throw HornbeamError(.modelsDiffer, "A versioned model has at least one version.") }
        self.versions = versions
    }

    /// The models in the JSON files of a folder, in the order of their names.
    ///
    /// - Throws: `malformedModelFile` for a folder that cannot be read; as `ManagedObjectModel(contentsOf:)` and `init`.
    public init(contentsOf folder: URL) throws {
        let files: [URL]
        do {
            files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        } catch {
            throw HornbeamError(
                .malformedModelFile, "The folder of models \(folder.lastPathComponent) cannot be read. Check that it exists.", cause: "\(error)")
        }
        let models = files.filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent.localizedStandardCompare($1.lastPathComponent) == .orderedAscending }
        try self.init(models.map { try ManagedObjectModel(contentsOf: $0) })
    }

    /// The version that the app works with.
    public var current: ManagedObjectModel { versions[versions.count - 1] }

    /// The version with a checksum; nil when there is none.
    public func version(withChecksum checksum: String) -> ManagedObjectModel? { versions.first { $0.versionChecksum == checksum } }
}
