public import Foundation
public import HornbeamModel

/// The URL and options of a store (CON-2).
public struct PersistentStoreDescription: Hashable, Sendable {
    /// The kinds of store. Stores on disk and in memory have the same engine.
    public enum StoreType: Hashable, Sendable {
        /// A directory on disk.
        case onDisk
        /// In memory, while a container uses its name.
        case inMemory
        /// Rows are stored elsewhere; see `CustomStore`.
        case custom
    }

    /// The moment at which a save returns.
    public enum Durability: Hashable, Sendable {
        /// After the save is durable. The default.
        case full
        /// After the save is written. It is durable after the delay at most, which a power failure can lose.
        case lazy(maxDelay: Duration)
    }

    /// On disk, in memory, or custom.
    public var type: StoreType
    /// The store's directory, usually `Name.hornbeam`; for a store in memory a URL with its name, `x-hornbeam-memory:///name`.
    public var url: URL
    /// The custom store of a `custom` description (CST-1).
    public var customStore: (any CustomStore)? { custom?.store }
    private var custom: CustomStoreReference?
    /// The configuration of the model with the store's entities; nil for all entities (PSC-1).
    public var configurationName: String?
    /// Opens for reading only: nothing is written and no lock is taken, so a store can be read while another process
    /// writes, and on read-only media. Shows one state until
    /// `PersistentStoreCoordinator.refreshReadOnlyStores()`. A save throws `readOnly` (PSC-7, PSC-22).
    public var isReadOnly = false
    /// Allows stores on NFS, SMB and other network file systems, where locks and syncs are unreliable: open the store from one machine only.
    public var allowsNetworkFileSystem = false
    /// Creates the store when it does not exist.
    public var createsIfMissing = true
    /// Migrates a store of another version of the model when it is opened (MIG-5).
    public var shouldMigrateStoreAutomatically = true
    /// Infers the mapping from the two versions (MIG-5).
    public var shouldInferMappingModelAutomatically = true
    /// Refuses a migration after which values break limits, patterns or rules of the new model, and names their objects. With false, as in Core
    /// Data, the migration keeps such values, and the rules hold for values that are set later.
    public var validatesMigratedObjects = false
    /// The folder for a copy of the store, made before a migration changes it; nil for none.
    public var backupDirectory: URL?
    /// The moment at which a save returns. See ``Durability-swift.enum``.
    public var durability = Durability.full
    /// How much history the store keeps. With nil, no history is recorded and the stored history is deleted (HIS-1).
    public var history: HistoryTracking? = HistoryTracking()
    /// The memory for pages of the store; when nil, a quarter of the machine's memory, at most 1 GiB.
    public var poolBytes: Int?
    /// The state at which a damaged store is opened: the newest, or an older one, which loses the later commits.
    public var startingPoint = StoreStartingPoint.newest
    /// The maximum age of a replaced state that is still read. Reads of an older one throw `snapshotExpired`, and its pages can be
    /// freed. No limit when nil. Pinned and retained states have no limit.
    public var snapshotAgeMax: Duration?
    /// How many replaced states of the store stay readable without a reader, for
    /// `queryGeneration(at:)`. Each one keeps the pages that the next commit replaced (QGN-5).
    public var retainedGenerations = 0
    /// The minimum time for which replaced states stay readable; nil for no minimum.
    public var retainedGenerationsAge: Duration?

    /// A store on disk.
    public init(url: URL) {
        type = .onDisk
        self.url = url
    }

    private init(type: StoreType, url: URL) {
        self.type = type
        self.url = url
    }

    /// A custom store (PSC-6).
    ///
    /// - Parameters:
    ///   - store: The store that supplies the rows.
    ///   - url: The URL of its rows, for `persistentStore(for:)`; when nil, one made from its identity.
    public static func custom(_ store: any CustomStore, at url: URL? = nil) -> Self {
        var description = Self(type: .custom, url: url ?? placeless("custom", store.identifier.uuidString))
        description.custom = CustomStoreReference(store: store)
        return description
    }

    /// A store in memory. Containers with the same name share it; without a name it is not shared.
    public static func inMemory(named name: String = UUID().uuidString) -> Self {
        Self(type: .inMemory, url: placeless("memory", name))
    }

    /// A URL that identifies a store without a file: `x-hornbeam-memory:///name`.
    private static func placeless(_ kind: String, _ name: String) -> URL {
        var components = URLComponents()
        components.scheme = "x-hornbeam-" + kind
        components.host = ""
        components.path = "/" + name
        return components.url ?? URL(filePath: "/" + name)
    }
}

/// A custom store, equal to itself only.
private struct CustomStoreReference: Hashable, Sendable {
    let store: any CustomStore

    static func == (a: Self, b: Self) -> Bool { a.store === b.store }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(store)) }
}
