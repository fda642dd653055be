import Hornbeam
import HornbeamEngine
import HornbeamModel

/// The text of an error for a failed command.
enum FailureText {
    /// The error's message, with each of its details on a line below.
    static func describe(_ error: any Error) -> String {
        switch error {
        case let error as HornbeamError: describe(error)
        case let error as EngineError: error.message
        case let error as CatalogueError: error.description
        case let error as CommandFailure: error.description
        default: "\(error)"
        }
    }

    private static func describe(_ error: HornbeamError) -> String {
        var lines = [error.message]
        if let cause = error.cause, !error.message.contains(cause) { lines.append("  cause: \(cause)") }
        lines += error.details.map { "  - \($0.message)" }
        return lines.joined(separator: "\n")
    }
}
