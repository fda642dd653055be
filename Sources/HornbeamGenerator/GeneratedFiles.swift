public import Foundation
internal import HornbeamModel

/// Generated files that are to be written to a folder.
public struct GeneratedFiles {
    /// The outcome for a file.
    public enum Outcome: String, Sendable {
        case written
        /// The file already has this text.
        case same
        /// The file was written or edited by hand, and stays unchanged.
        case kept
    }

    private let files: [GeneratedFile]

    public init(_ files: [GeneratedFile]) { self.files = files }

    /// Writes the files that are new or changed, except for existing files that were written by hand.
    ///
    /// - Throws: `saveFailed` for a folder or a file that cannot be written.
    @discardableResult
    public func write(to folder: URL) throws -> [(name: String, outcome: Outcome)] {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw HornbeamError(
                .saveFailed, "The folder '\(folder.path)' cannot be made. Check the path and its permissions.", cause: "\(error)")
        }
        return try files.map { ($0.name, try write($0, to: folder.appending(path: $0.name))) }
    }

    private func write(_ file: GeneratedFile, to url: URL) throws -> Outcome {
        if FileManager.default.fileExists(atPath: url.path) {
            // A file that cannot be read, or is in another encoding, is not a generated one.
            let old = (try? Data(contentsOf: url)) ?? Data()
            if old == Data(file.text.utf8) { return .same }
            if !file.isOverwritten || !old.starts(with: GeneratedFile.mark.utf8) { return .kept }
        }
        do {
            try file.text.write(to: url, atomically: true, encoding: .utf8)
        } catch {
            throw HornbeamError(
                .saveFailed, "The file '\(url.path)' cannot be written. Check its permissions and the space on the disk.", cause: "\(error)")
        }
        return .written
    }
}
