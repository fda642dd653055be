public import Foundation
internal import HornbeamModel

/// A folder with several versions of one model, of which one is current: an `.xcdatamodeld` (MDL-12).
public struct XcodeModelBundle: Sendable {
    public let url: URL
    /// The names of the versions without their extension, in the order in which people count: `Shop`, `Shop 2`, `Shop 10`.
    public let versionNames: [String]
    /// The version that `.xccurrentversion` names; the first when it names none or is not there.
    public let currentVersionName: String

    /// Lists the versions.
    ///
    /// - Throws: `HornbeamError` with code `inputOutput` when the folder cannot be read or holds no version,
    ///   `malformedModelFile` when the current version is not among them.
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
            .sorted { $0.countedKey < $1.countedKey }
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

    /// The version that a marker file names; nil when it names none, as Xcode writes for a single version.
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
        guard versions.contains(version) else {
            throw HornbeamError(
                .malformedModelFile,
                "The current version of “\(name)” is “\(version)”, which is not there: it holds "
                    + versions.map { "“\($0)”" }.joined(separator: ", ") + ".")
        }
        return version
    }

    /// The `.xcdatamodel` of a version.
    public func url(ofVersion name: String) -> URL { url.appending(path: "\(name).xcdatamodel") }

    /// Reads a version.
    ///
    /// - Throws: As `XcodeModel.init(contentsOf:)`.
    public func version(named name: String) throws -> XcodeModel { try XcodeModel(contentsOf: url(ofVersion: name)) }
}

extension String {
    /// The text before a closing number, and the number: sorts `Shop 10` after `Shop 2`.
    fileprivate var countedKey: (String, Int) {
        let digits = reversed().prefix { $0.isASCII && $0.isNumber }
        return (String(dropLast(digits.count)).trimmingCharacters(in: .whitespaces), Int(String(digits.reversed())) ?? 0)
    }
}
