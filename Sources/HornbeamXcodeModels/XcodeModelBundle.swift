public import Foundation
public import HornbeamModel

/// A folder with several versions of one model, of which one is current: an `.xcdatamodeld` (MDL-12).
public struct XcodeModelBundle: Sendable {
    /// The URL of the `.xcdatamodeld`.
    public let url: URL
    /// The names of the versions without their extension, sorted so that numbers compare by value: `Shop`, `Shop 2`, `Shop 10`.
    public let versionNames: [String]
    /// The version that the file `.xccurrentversion` names; the first version if the file names none or does not exist.
    public let currentVersionName: String

    /// Lists the versions.
    ///
    /// - Throws: `HornbeamError` with code `inputOutput` when the folder cannot be read or contains no version,
    ///   `malformedModelFile` when the current version is missing.
    public init(contentsOf url: URL) throws {
        self.url = url
        let name = url.lastPathComponent
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: url.path)
        } catch {
            throw HornbeamError(
                .inputOutput, "The model “\(name)” cannot be read: check that it is a folder and may be read.",
                cause: "\(error)")
        }
        let suffix = ".xcdatamodel"
        versionNames = files.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }
            .sorted { VersionName($0) < VersionName($1) }
        guard let first = versionNames.first else {
            throw HornbeamError(.inputOutput, "The model “\(name)” holds no .xcdatamodel: it is not a model of Xcode.")
        }
        let marker = url.appending(path: ".xccurrentversion")
        guard let data = try? Data(contentsOf: marker) else {
            currentVersionName = first
            return
        }
        currentVersionName = try Self.currentVersion(data, in: name, among: versionNames) ?? first
    }

    /// The version that the file `.xccurrentversion` names; nil when it names none, as in a bundle with a single version.
    private static func currentVersion(_ data: Data, in name: String, among versions: [String]) throws -> String? {
        let list = unsafe try? PropertyListSerialization.propertyList(from: data, format: nil)
        guard let members = list as? [String: Any] else {
            throw HornbeamError(
                .malformedModelFile,
                "The file “\(name)/.xccurrentversion” is not a property list: choose the current version in Xcode, "
                    + "or remove the file.")
        }
        guard let file = members["_XCCurrentVersionName"] as? String else { return nil }
        let version = file.hasSuffix(".xcdatamodel") ? String(file.dropLast(".xcdatamodel".count)) : file
        // Equal names can differ in their Unicode normalisation, and a file is found by the bytes of its name.
        guard let found = versions.first(where: { $0 == version }) else {
            throw HornbeamError(
                .malformedModelFile,
                "The current version of “\(name)” is “\(version)”, which does not exist. The versions are "
                    + versions.map { "“\($0)”" }.joined(separator: ", ") + ".")
        }
        return found
    }

    /// The `.xcdatamodel` of a version.
    public func url(ofVersion name: String) -> URL {
        url.appending(path: "\(versionNames.first { $0 == name } ?? name).xcdatamodel")
    }

    /// Reads a version.
    ///
    /// - Throws: The errors of `XcodeModel.init(contentsOf:)`.
    public func version(named name: String) throws -> XcodeModel { try XcodeModel(contentsOf: url(ofVersion: name)) }
}

extension VersionedModel {
    /// All versions of an `.xcdatamodeld`. The current version is the one that `.xccurrentversion` names (MDL-12, MIG-13).
    ///
    /// Adjacent versions with equal version hashes become one version. It has the name of the current version if that is one of them,
    /// otherwise the name of the last of them.
    /// - Parameter order: The names of the versions, the oldest first, if it differs from the order by number: `Shop`,
    ///   `Shop 2`, `Shop 10`. Versions that it does not name are not read.
    /// - Throws: The errors of `XcodeModelBundle` and `XcodeModel`; `invalidModel` for an invalid version; `modelReferenceNotFound` when the
    ///   order names a missing version, or does not name the current one; `modelsDiffer` when two versions have equal version hashes.
    public init(xcodeModelsAt url: URL, order: [String]? = nil) throws {
        let bundle = try XcodeModelBundle(contentsOf: url)
        let place = url.lastPathComponent
        if let missing = order?.first(where: { !bundle.versionNames.contains($0) }) {
            throw HornbeamError(
                .modelReferenceNotFound,
                "“\(place)” holds no version “\(missing)”: it holds " + bundle.versionNames.map { "“\($0)”" }.joined(separator: ", ") + ".")
        }
        var versions: [(name: String, model: ManagedObjectModel)] = []
        for name in order ?? bundle.versionNames {
            let model = try bundle.model(ofVersion: name)
            if let last = versions.last, last.model.versionChecksum == model.versionChecksum {
                if last.name == bundle.currentVersionName { continue }
                versions.removeLast()
            }
            versions.append((name, model))
        }
        try self.init(versions.map(\.model), names: versions.map(\.name), current: bundle.currentVersionName)
    }
}

extension XcodeModelBundle {
    /// A version as a model. The messages of errors begin with the name of the version.
    fileprivate func model(ofVersion name: String) throws -> ManagedObjectModel {
        do {
            return try ManagedObjectModel(version(named: name))
        } catch var error as HornbeamError {
            error.message = "Version “\(name)” of “\(url.lastPathComponent)”: \(error.message)"
            throw error
        }
    }
}
