/// An error in a model, or a warning about a part that is probably not intended.
public struct ModelIssue: Hashable, Sendable {
    /// The severity of an issue.
    public enum Severity: String, Hashable, Sendable, Codable, Comparable {
        /// The model cannot be used.
        case error
        /// The model can be used, but may behave differently than intended.
        case warning

        public static func < (a: Self, b: Self) -> Bool { a == .error && b == .warning }
    }

    /// Determines whether the model can be used.
    public var severity: Severity
    /// A description of the issue and its remedy.
    public var message: String
    /// The name of the entity concerned.
    public var entity: String?
    /// The name of the property, index, template or configuration.
    public var key: String?
    /// The path of the model file, if the model comes from one.
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
    /// `Shop.xcdatamodel/contents:12: warning: …`, the format of compilers.
    public var description: String {
        let place = [file, line.map(String.init)].compactMap(\.self).joined(separator: ":")
        return (place.isEmpty ? "" : "\(place): ") + "\(severity.rawValue): \(message)"
    }
}
