package import Foundation
package import HornbeamEngine
package import HornbeamModel

extension Store {
    /// The location of a store.
    package enum Location: Hashable, Sendable, CustomStringConvertible {
        /// A folder. It is created if it is missing.
        case directory(String)
        /// A store in memory with a name. It exists while it is open in this process.
        case memory(name: String)

        package var description: String {
            switch self {
            case .directory(let path): path
            case .memory(let name): "memory:\(name)"
            }
        }
    }

    /// The moment at which a save returns.
    package enum SaveDurability: Hashable, Sendable {
        /// After the commit is durable.
        case full
        /// After the commit is written. It is synced within the delay.
        case lazy(maxDelay: Duration)

        var engineLevel: Durability {
            switch self {
            case .full: .full
            case .lazy(let delay): .lazy(maxDelay: delay)
            }
        }
    }

    package struct Options: Sendable {
        package var createIfMissing = true
        /// The store writes nothing and takes no lock, and another process may write at the same time. See `refresh()`.
        package var readOnly = false
        /// Several processes write the store in turns. All of them must set it. Ignored for stores in memory and for `readOnly`.
        package var isShared = false
        /// The time for which a save into a shared store waits for another process.
        package var busyTimeout = Duration.seconds(10)
        /// The version to open. `Store.openingLoss` describes the commits that an older version lacks.
        package var startingPoint = StoreStartingPoint.newest
        /// The maximum age of a replaced version that a snapshot reads; nil for the limit in `engine`, which has none by default.
        package var snapshotAgeMax: Duration?
        package var allowsNetworkFileSystem = false
        /// The size of the buffer pool; nil lets the engine choose.
        package var poolBytes: Int?
        package var durability = SaveDurability.full
        /// The limits of history. With nil, no history is recorded and the stored history is deleted.
        package var history: HistoryRetention? = .standard
        /// True keeps the stored history as it is, whatever `history` is: records are added if there is one, and none is deleted. For tools,
        /// which do not know the limits of the app.
        package var keepsStoredHistory = false
        /// The source of the times in history.
        package var clock: @Sendable () -> Date = { Date() }
        /// The number and the age of replaced versions that stay readable without a snapshot.
        package var retainedGenerations = 0
        package var retainedGenerationsAge: Duration?
        /// False runs checkpoints on the committing thread, so that simulations are repeatable.
        package var backgroundCheckpoints = true
        /// How a store of another model is migrated; with nil, opening it fails.
        package var migration: MigrationOptions?
        /// Set in the stores that the code of a stage reads and writes.
        var stage: StageAccess?
        /// The custom store of which this store caches rows.
        package var backing: StoreBacking?
        /// Replaces the system's files in tests.
        package var fileSystem: (any FileSystem)?
        /// Further options of the engine, mainly sizes. The options above override them.
        package var engine = EngineOptions()

        package init() {}

        var engineOptions: EngineOptions {
            var options = engine
            options.createIfMissing = createIfMissing
            options.isReadOnly = readOnly
            options.isShared = isShared && !readOnly && startingPoint == .newest && backing == nil
            options.busyTimeout = busyTimeout
            options.startingPoint = StartingPoint(startingPoint)
            if let snapshotAgeMax { options.retention.snapshotAgeMax = snapshotAgeMax }
            options.allowsNetworkFileSystem = allowsNetworkFileSystem
            options.usesBackgroundThread = backgroundCheckpoints
            if retainedGenerations > 0 { options.retention.count = retainedGenerations }
            if let retainedGenerationsAge { options.retention.age = retainedGenerationsAge }
            if let poolBytes { options.poolBytes = poolBytes }
            // The rows are those of the custom store, and each opening has a cache of its own.
            options.logsChanges = backing == nil
            return options
        }
    }
}

extension StartingPoint {
    init(_ point: StoreStartingPoint) {
        self =
            switch point {
            case .newest: .newest
            case .lastReadable: .lastReadable
            case .previousCheckpoint: .previousCheckpoint
            }
    }
}
