import Foundation

/// A catalogue that cannot be read at all. Malformed paragraphs are `CatalogueProblem`s instead.
struct CatalogueError: Error, Equatable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }

    static func cannotRead(_ path: String, _ errno: Int32) -> CatalogueError {
        CatalogueError("'\(path)' cannot be read: \(String(cString: strerror(errno))).")
    }
}

/// A paragraph that was skipped, and why.
struct CatalogueProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file, as it was opened.
    var source = ""
    /// The line of the file that shows the problem, from 1.
    let line: Int
    let reason: String

    var description: String { "\(source):\(line): \(reason); the paragraph is skipped" }
}
