#if Postgres
internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// The saves and batches of this process whose outcomes are unknown, because the server could not be queried.
///
/// The listener skips the saves of its own process, because the cache already has their rows. The cache has no rows of the saves in this list, so the
/// listener reads those that were written.
final class UnknownSaves: Sendable {
    private let tokens = Guarded<[UUID]>([])
    /// Tokens of transactions that the server has rolled back are never found. Only the newest are kept.
    private static let countMax = 64

    func add(_ token: UUID) { tokens.withLock { $0 = Array($0.suffix(Self.countMax - 1)) + [token] } }

    /// Adds the objects of those that were written. Returns the tokens whose outcomes are known now.
    func read(_ layout: StoreLayout, _ connection: Connection, into changes: inout ExternalChanges) throws -> Set<UUID> {
        let unknown = tokens.withLock { $0 }
        if unknown.isEmpty { return [] }
        let found = try connection.execute(
            Statement(
                "SELECT token, changed, deleted FROM \(layout.saves) WHERE token = ANY($1::uuid[])", [SQLText.array(unknown.map { $0.uuidString as String? })]))
        for row in 0 ..< found.rowCount {
            changes.changed += KeyList.keys(found[row, 1] ?? "") ?? []
            changes.deleted += KeyList.keys(found[row, 2] ?? "") ?? []
        }
        return Set((0 ..< found.rowCount).compactMap { found[$0, 0].flatMap(UUID.init(uuidString:)) })
    }

    func remove(_ known: Set<UUID>) {
        if known.isEmpty { return }
        tokens.withLock { $0.removeAll { known.contains($0) } }
    }
}
#endif
