import Foundation
import Testing

/// The working copy that the tests run in.
enum Repository {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// All text files of one kind below some folders of the repository, sorted by path; without the code of tutorials.
    static func files(_ suffix: String, in folders: [String]) -> [TextFile] {
        folders.flatMap { folder -> [TextFile] in
            let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path) ?? .init()
            return names.compactMap { $0 as? String }
                .filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".build/") && !$0.contains("/.build/") && !$0.contains(".docc/Resources/") }
                .compactMap { TextFile(folder == "." ? $0 : "\(folder)/\($0)") }
        }
        .sorted { $0.path < $1.path }
    }

    static let swiftFiles = files(".swift", in: ["Sources", "Tests", "Benchmarks"])
    static let sourceFiles = files(".swift", in: ["Sources", "Benchmarks"])
    static let documents = files(".md", in: ["Docs", "Sources/Hornbeam"]) + [TextFile("README.md")].compactMap(\.self)
    static let scripts = ["Scripts", ".ci"].flatMap { folder in
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
        return names.sorted().compactMap { TextFile("\(folder)/\($0)") }
    }
}

/// A text file of the repository.
struct TextFile: CustomTestStringConvertible, Sendable {
    /// The path from the root.
    let path: String
    let lines: [Substring]

    init?(_ path: String) {
        guard let text = try? String(contentsOf: Repository.root.appending(path: path), encoding: .utf8) else { return nil }
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    var testDescription: String { path }
    var text: String { lines.joined(separator: "\n") }

    /// `path:line`, as compilers print it.
    func place(_ index: Int) -> String { "\(path):\(index + 1)" }

    /// The module whose folder holds the file: the second component of `Sources/Module/…`.
    var module: String {
        let parts = path.split(separator: "/")
        return parts.first == "Sources" ? String(parts[1]) : String(parts[0])
    }
}
