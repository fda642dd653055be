import Foundation

/// A folder that lives as long as the test that made it.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }
}
