public import Foundation
public import HornbeamModel

/// Where a store is and how it is opened (CON-2).
public struct PersistentStoreDescription: Hashable, Sendable {
    /// The kinds of store. Both are the same engine; one keeps its files in memory.
    public enum StoreType: Hashable, Sendable {
        /// A directory on disk.
        case onDisk
        /// Gone when the last container that uses its name lets go of it.
        case inMemory
        /// Rows that lie elsewhere; see `CustomStore`.
        case custom
    }

    /// When a save counts as done.
    public enum Durability: Hashable, Sendable {
        /// When it is on the disk. The default.
        case full
        /// When it is written; it is on the disk after the delay at most, and a power cut loses at most that.
        case lazy(maxDelay: Duration)
    }

    /// Whether the store is on disk, in memory, or a custom store.
    public var type: StoreType
    /// The store's directory, usually `Name.hornbeam`; for a store in memory its name, as `x-hornbeam-memory:///name`.
    public var url: URL
    /// The store of one's own, of a `custom` description (CST-1).
    public var customStore: (any CustomStore)? { custom?.store }
    private var custom: CustomStoreReference?
    /// The configuration of the model whose entities go into the store; nil for all (PSC-1).
    public var configurationName: String?
    /// Opens for reading only: nothing is written and no lock is taken, so that this works beside a process that
    /// writes and on media that cannot be written. Shows one state until
    /// `PersistentStoreCoordinator.refreshReadOnlyStores()`. A save throws `readOnly` (PSC-7, PSC-22).
    public var isReadOnly = false
    /// Opens a store on NFS, SMB and the like. Neither locks nor syncs can be relied on there: open it from one machine only.
    public var allowsNetworkFileSystem = false
    /// Makes the store when there is none.
    public var createsIfMissing = true
    /// Migrates a store that was made with another version of the model when it is opened (MIG-5).
    public var shouldMigrateStoreAutomatically = true
    /// Lets the mapping follow from the two versions (MIG-5).
    public var shouldInferMappingModelAutomatically = true
    /// Where a copy of the store is put before a migration changes anything; nil for none.
    public var backupDirectory: URL?
    /// The moment at which a save returns. See ``Durability-swift.enum``.
    public var durability = Durability.full
    /// How much history the store keeps; nil for none, which forgets what there is (HIS-1).
    public var history: HistoryTracking? = HistoryTracking()
    /// The memory for pages of the store; a quarter of the machine's at most 1 GiB when nil.
    public var poolBytes: Int?
    /// Which state a damaged store is opened at: the newest, or an older one, with what came after lost.
    public var startingPoint = StoreStartingPoint.newest
    /// A state that was replaced longer ago than this cannot be read on: whoever does gets `snapshotExpired`, and saves need
    /// not keep its pages. No limit when nil. States that are pinned or retained on purpose have none.
    public var snapshotAgeMax: Duration?
    /// How many replaced states of the store stay readable though nobody reads them, for
    /// `queryGeneration(at:)`. Each costs the pages that the next commit replaced (QGN-5).
    public var retainedGenerations = 0
    /// Replaced states stay readable for at least this long too; nil for not by time.
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

    /// A store of one's own (PSC-6).
    ///
    /// - Parameters:
    ///   - store: The store that supplies the rows.
    ///   - url: Where its rows are, for `persistentStore(for:)`; of its identity alone when nil.
    public static func custom(_ store: any CustomStore, at url: URL? = nil) -> Self {
        var description = Self(type: .custom, url: url ?? placeless("custom", store.identifier.uuidString))
        description.custom = CustomStoreReference(store: store)
        return description
    }

    /// A store in memory. Containers that use the same name share it; without a name it is shared by nobody.
    public static func inMemory(named name: String = UUID().uuidString) -> Self {
        Self(type: .inMemory, url: placeless("memory", name))
    }

    /// A URL that names a store and no file: `x-hornbeam-memory:///name`.
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
