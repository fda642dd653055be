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
        /// After the save is written. The save is durable after `maxDelay` at the latest; a power failure can lose the saves of this time.
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
    /// Opens for reading only: takes no lock and writes nothing, so a store can be read while another process
    /// writes, and on read-only media. Reads show one snapshot until
    /// `PersistentStoreCoordinator.refreshReadOnlyStores()`. A save throws `readOnly` (PSC-7, PSC-22). A custom store is opened as usual, and only
    /// saves and batches are refused.
    public var isReadOnly = false
    /// Opens the store for writing together with other processes of this machine. All of them must set it; otherwise the second one gets the
    /// error `storeInUse`. The processes write in turns. Commits of others reach contexts, change sequences and fetched results as those of
    /// this process do, with history (PSC-22). Ignored for stores in memory.
    public var isShared = false
    /// The time for which a save waits while another process writes a shared store. Then it throws `busy`, and nothing was written. A time below
    /// 20 ms counts as 20 ms.
    public var busyTimeout = Duration.seconds(10)
    /// Allows stores on NFS, SMB and other network file systems. Locks and syncs are unreliable there: open the store from one machine only.
    public var allowsNetworkFileSystem = false
    /// Creates the store if it does not exist.
    public var createsIfMissing = true
    /// Migrates a store of another model version when it is opened (MIG-5).
    public var shouldMigrateStoreAutomatically = true
    /// Infers the mapping from the two model versions (MIG-5).
    public var shouldInferMappingModelAutomatically = true
    /// Refuses a migration after which values break limits, patterns or rules of the new model, and names their objects. With false, as in Core
    /// Data, the migration keeps such values, and the rules hold for values that are set later.
    public var validatesMigratedObjects = false
    /// The folder for a copy of the store that is made before a migration changes the store; nil for no copy.
    public var backupDirectory: URL?
    /// The moment at which a save returns. See ``Durability-swift.enum``.
    public var durability = Durability.full
    /// The limits of the store's history. With nil, no history is recorded, and the stored history is deleted (HIS-1).
    public var history: HistoryTracking? = HistoryTracking()
    /// The memory for pages of the store; if nil, a quarter of the memory of the machine or of the process's control group, at most 1 GiB.
    public var poolBytes: Int?
    /// The version at which a damaged store is opened: the newest, or an older one without the commits after it.
    public var startingPoint = StoreStartingPoint.newest
    /// The maximum age of a replaced snapshot that a context still reads. Reads of an older one throw `snapshotExpired`, and its pages can be
    /// freed. If nil, there is no limit. Pinned and retained snapshots have no limit.
    public var snapshotAgeMax: Duration?
    /// How many replaced snapshots of the store stay readable although no context uses them, for
    /// `queryGeneration(at:)`. Each one holds the pages that the next commit replaced (QGN-5).
    public var retainedGenerations = 0
    /// The minimum time for which replaced snapshots stay readable; nil for no minimum.
    public var retainedGenerationsAge: Duration?
    /// The seconds that are added to the system's clock for the times in history. For tests of clocks that jump.
    package var clockOffset = 0.0
    /// True if the clock jumps: each time that it is read, the offset is added or subtracted.
    package var clockJumps = false

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
    ///   - url: The URL for `persistentStore(for:)`; if nil, a URL is made from the store's identifier.
    public static func custom(_ store: any CustomStore, at url: URL? = nil) -> Self {
        var description = Self(type: .custom, url: url ?? urlWithoutFile("custom", store.identifier.uuidString))
        description.custom = CustomStoreReference(store: store)
        return description
    }

    /// A store in memory. Containers with the same name share the store. Without a name, the store has a unique name.
    public static func inMemory(named name: String = UUID().uuidString) -> Self {
        Self(type: .inMemory, url: urlWithoutFile("memory", name))
    }

    /// A URL that identifies a store without files: `x-hornbeam-memory:///name`.
    private static func urlWithoutFile(_ kind: String, _ name: String) -> URL {
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
