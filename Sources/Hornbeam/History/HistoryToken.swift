public import Foundation
internal import HornbeamStore

/// A position in history. The owner of the token has read all transactions up to it (HIS-4).
///
/// A value that can be stored, for example as JSON in a file. It has a position for each store of a coordinator.
public struct HistoryToken: Hashable, Sendable {
    /// The positions, by the store's identifier.
    var positions: [UUID: HistoryPosition]

    init(_ positions: [UUID: HistoryPosition]) { self.positions = positions }

    /// The stores with a position in the token.
    public var storeIdentifiers: Set<UUID> { Set(positions.keys) }

    /// The newest transaction of a store up to the token; nil if the token has no position for it.
    public func transactionNumber(of store: UUID) -> UInt64? { positions[store]?.number }

    /// A token with the positions of both tokens; for a store in both, the later position.
    public func union(_ other: HistoryToken) -> HistoryToken {
        HistoryToken(positions.merging(other.positions) { $0.number >= $1.number ? $0 : $1 })
    }
}

/// Encoded as an object with a member for each store, named by its UUID.
extension HistoryToken: Codable {
    public init(from decoder: any Decoder) throws {
        let coded = try decoder.singleValueContainer().decode([String: HistoryPosition].self)
        var positions: [UUID: HistoryPosition] = [:]
        for (text, position) in coded {
            guard let store = UUID(uuidString: text) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "A history token names each store by its UUID."))
            }
            positions[store] = position
        }
        self.init(positions)
    }

    public func encode(to encoder: any Encoder) throws {
        let pairs = positions.map { ($0.key.uuidString, $0.value) }
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(uniqueKeysWithValues: pairs))
    }
}

extension HistoryToken: CustomStringConvertible {
    /// The number of the newest transaction of each store.
    public var description: String {
        let parts = positions.map { "\($0.key): \($0.value.number)" }.sorted()
        return "HistoryToken(\(parts.joined(separator: ", ")))"
    }
}
