import Foundation

/// A catalogue that cannot be read. A malformed paragraph is a `CatalogueProblem` instead.
struct CatalogueError: Error, Equatable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }

    static func cannotRead(_ path: String, _ errno: Int32) -> CatalogueError {
        CatalogueError(unsafe "'\(path)' cannot be read: \(String(cString: strerror(errno))).")
    }
}

/// A skipped paragraph, with the reason.
struct CatalogueProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file, by the path with which it was opened.
    var source = ""
    /// The line of the problem, from 1.
    let line: Int
    let reason: String

    var description: String { "\(source):\(line): \(reason); the paragraph is skipped" }
}
