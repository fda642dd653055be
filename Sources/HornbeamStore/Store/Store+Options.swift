package import Foundation
package import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Where a store is.
    package enum Location: Hashable, Sendable, CustomStringConvertible {
        /// A folder, created if it is missing.
        case directory(String)
        /// In memory, for as long as a store of that name is open in this process.
        case memory(name: String)

        package var description: String {
            switch self {
            case .directory(let path): path
            case .memory(let name): "memory:\(name)"
            }
        }
    }

    /// When a save returns.
    package enum SaveDurability: Hashable, Sendable {
        /// Once the commit has reached the disk.
        case full
        /// Once it is written; it reaches the disk within the delay.
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
        /// Writes nothing and takes no lock; another process may write meanwhile. See `refresh()`.
        package var readOnly = false
        /// Which state to open; see `Store.openingLoss` for what an older one leaves out.
        package var startingPoint = StoreStartingPoint.newest
        /// A state that was replaced longer ago than this cannot be read on; no limit when nil.
        package var snapshotAgeMax: Duration?
        package var allowsNetworkFileSystem = false
        /// The size of the buffer pool; nil lets the engine choose.
        package var poolBytes: Int?
        package var durability = SaveDurability.full
        /// How much history is kept; nil for none, which forgets what there is.
        package var history: HistoryRetention? = .standard
        /// What time it is; history says when things happened.
        package var clock: @Sendable () -> Date = { Date() }
        /// Replaced states that stay readable though nobody reads them, by number and by age.
        package var retainedGenerations = 0
        package var retainedGenerationsAge: Duration?
        /// False: checkpoints happen on the thread that commits, so that simulations are repeatable.
        package var backgroundCheckpoints = true
        /// How a store of another model is migrated; nil refuses it.
        package var migration: MigrationOptions?
        /// The custom store of whose rows this one keeps a copy.
        package var backing: StoreBacking?
        /// Takes the place of the system's files in tests.
        package var fileSystem: (any FileSystem)?
        /// What the engine is opened with, sizes above all; the settings above come on top.
        package var engine = EngineOptions()

        package init() {}

        var engineOptions: EngineOptions {
            var options = engine
            options.createIfMissing = createIfMissing
            options.isReadOnly = readOnly
            options.startingPoint = StartingPoint(startingPoint)
            if let snapshotAgeMax { options.retention.snapshotAgeMax = snapshotAgeMax }
            options.allowsNetworkFileSystem = allowsNetworkFileSystem
            options.usesBackgroundThread = backgroundCheckpoints
            if retainedGenerations > 0 { options.retention.count = retainedGenerations }
            if let retainedGenerationsAge { options.retention.age = retainedGenerationsAge }
            if let poolBytes { options.poolBytes = poolBytes }
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
