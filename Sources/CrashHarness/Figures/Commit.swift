import Foundation

/// The commit of the sources from which the harness was built.
enum Commit {
    /// The abbreviated hash, with `+` if the working copy has changes; "unknown" outside a repository.
    static let current: String = describe() ?? "unknown"

    private static func describe() -> String? {
        let git = Process()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        git.arguments = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return nil }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !text.isEmpty ? text : nil
    }
}
