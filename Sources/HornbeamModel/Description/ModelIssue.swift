/// Something about a model that is wrong, or that is seldom meant.
public struct ModelIssue: Hashable, Sendable {
    /// How bad an issue is.
    public enum Severity: String, Hashable, Sendable, Codable, Comparable {
        /// The model cannot be used.
        case error
        /// The model can be used, and perhaps does something else than was meant.
        case warning

        public static func < (a: Self, b: Self) -> Bool { a == .error && b == .warning }
    }

    /// Whether the model can be used.
    public var severity: Severity
    /// What it is, and what to do.
    public var message: String
    /// The name of the entity concerned.
    public var entity: String?
    /// The name of the property, index, template or configuration.
    public var key: String?
    /// The path of the model file, where the model comes from one.
    public var file: String?
    /// The line in the file, counted from 1.
    public var line: Int?

    /// An issue with its place in the model.
    public init(_ severity: Severity, _ message: String, entity: String? = nil, key: String? = nil, line: Int? = nil) {
        self.severity = severity
        self.message = message
        self.entity = entity
        self.key = key
        self.line = line
    }
}

extension ModelIssue: CustomStringConvertible {
    /// `Shop.xcdatamodel/contents:12: warning: …`, as compilers print it.
    public var description: String {
        let place = [file, line.map(String.init)].compactMap(\.self).joined(separator: ":")
        return (place.isEmpty ? "" : "\(place): ") + "\(severity.rawValue): \(message)"
    }
}
