public import Foundation

extension ManagedObjectID {
    /// The parts of an ID's URI. The store of the ID need not be open (PSC-12).
    public struct URIParts: Hashable, Sendable {
        /// The identity of the store; nil for a temporary ID.
        public var storeIdentifier: UUID?
        /// The entity of the object.
        public var entityName: String
        /// The number of the row, or of the temporary ID.
        public var reference: UInt64
        /// True for the ID of an object that was never saved.
        public var isTemporary: Bool

        /// Reads `x-hornbeam://<store>/<Entity>/p<number>`; `x-coredata:` is accepted too, and
        /// `t<number>` for temporary IDs. Nil when the URI is of another form.
        public init?(_ uri: URL) {
            guard uri.scheme == "x-hornbeam" || uri.scheme == "x-coredata" else { return nil }
            let steps = uri.path.split(separator: "/", omittingEmptySubsequences: true)
            guard steps.count == 2, let kind = steps[1].first, kind == "p" || kind == "t" else { return nil }
            let digits = steps[1].dropFirst()
            guard digits.allSatisfy(\.isNumber), let number = UInt64(digits) else { return nil }
            let host = uri.host ?? ""
            storeIdentifier = UUID(uuidString: host)
            isTemporary = kind == "t"
            guard storeIdentifier != nil || (isTemporary && host.isEmpty) else { return nil }
            entityName = String(steps[0])
            reference = number
        }
    }

    /// The ID as a URI, to be stored as text and passed to a coordinator later (PSC-12).
    ///
    /// Permanent: `x-hornbeam://<store-UUID>/<Entity>/p<number>`. Temporary: `x-hornbeam:///<Entity>/t<number>`,
    /// valid in this process only.
    public func uriRepresentation() -> URL {
        var parts = URLComponents()
        parts.scheme = "x-hornbeam"
        parts.host = storeIdentifier?.uuidString ?? ""
        parts.path = "/\(entityName)/\(isTemporaryID ? "t" : "p")\(reference)"
        guard let url = parts.url else {
            misuse("The entity name “\(entityName)” cannot be part of a URI.")
        }
        return url
    }

    /// The ID that a URI represents; nil for a URI of another form. Does not check whether a store contains the object.
    public init?(uriRepresentation uri: URL) {
        guard let parts = URIParts(uri) else { return nil }
        let origin = StoreIdentity(
            entityName: parts.entityName, storeIdentifier: parts.isTemporary ? nil : parts.storeIdentifier,
            entityNumber: -1)
        self.init(origin: origin, reference: parts.reference)
    }

    /// The order of two IDs: by store, entity and number; temporary ones last.
    package func order(to other: ManagedObjectID) -> ValueOrder {
        if self == other { return .same }
        let a = (isTemporaryID ? 1 : 0, storeIdentifier?.uuidString ?? "", entityName, reference)
        let b = (other.isTemporaryID ? 1 : 0, other.storeIdentifier?.uuidString ?? "", other.entityName, other.reference)
        return a < b ? .less : .greater
    }
}

extension ManagedObjectID: CustomStringConvertible {
    /// The URI.
    public var description: String { uriRepresentation().absoluteString }
}

/// Encoded as the text of its URI.
extension ManagedObjectID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let url = URL(string: text), let id = ManagedObjectID(uriRepresentation: url) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "The text is not the URI of a managed object.")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(uriRepresentation().absoluteString)
    }
}
