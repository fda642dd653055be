import Foundation

/// The options of the command line.
struct HarnessOptions {
    var command = "help"
    var seconds: Double?
    var count: Int?
    var seed: UInt64?
    var figures: String?
    var replay: String?
    /// The file in which the run records its current case. Set by a supervising process.
    var trail: String?
    /// Options of a single mode, by name: `--mutants 3` is `["mutants": "3"]`.
    var extras: [String: String] = [:]

    init(_ words: [String]) throws {
        var rest = words[...]
        guard let first = rest.popFirst(), !["--help", "-h", "help"].contains(first) else { return }
        guard !first.hasPrefix("-") else { throw UsageError("a mode comes before the options") }
        command = first
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { throw UsageError("'\(word)' is one word too many") }
            guard let value = rest.popFirst() else { throw UsageError("\(word) needs a value") }
            try set(String(word.dropFirst(2)), value)
        }
    }

    private mutating func set(_ name: String, _ value: String) throws {
        switch name {
        case "seconds": seconds = try Self.number(value, name) { $0 > 0 }
        case "count": count = try Self.number(value, name) { $0 > 0 }
        case "seed": seed = try Self.number(value, name) { _ in true }
        case "figures": figures = value
        case "replay": replay = value
        case "trail": trail = value
        default: extras[name] = value
        }
    }

    private static func number<T: LosslessStringConvertible>(_ text: String, _ name: String, _ isGood: (T) -> Bool) throws -> T {
        guard let value = T(text), isGood(value) else { throw UsageError("--\(name) cannot be '\(text)'") }
        return value
    }

    /// The command line that replays one case.
    func replayCommand(_ seed: UInt64, _ name: String) -> String {
        let extras = extras.sorted { $0.key < $1.key }.map { " --\($0.key) \($0.value)" }.joined()
        return "crash-harness \(command) --seed \(seed)\(extras) --replay '\(name)'"
    }

    var requiredFigures: String {
        get throws {
            guard let figures else { throw UsageError("--figures FILE is missing") }
            return figures
        }
    }
}

/// A syntax error of the command line. Ends the harness with status 2.
struct UsageError: Error, Equatable {
    let message: String
    init(_ message: String) { self.message = message }
}
