public import Foundation

/// A custom store that keeps history, so that `PersistentHistory` reads it like the history of Hornbeam's own stores.
///
/// A save passes its entry in `CustomStoreChanges.history`. The store writes it in the transaction of the rows and gives it a number. Invariants:
///
/// - Numbers ascend in the order in which readers see the commits: an entry that becomes visible later has a higher number than each visible one.
/// - A save that has returned is in the history that is read afterwards.
/// - Times do not decrease with the numbers.
///
/// Entries are removed from the oldest on, by the limits of `setHistoryTracking(_:)` and by `removeHistory(through:)`. The methods may be called on several
/// threads at the same time.
public protocol HistoryKeepingStore: CustomStore {
    /// Called once before `open(_:)`, with the limits of the history; nil if the container keeps none.
    func setHistoryTracking(_ tracking: HistoryTracking?)

    /// True if the open store records saves, and its history can be read.
    var keepsHistory: Bool { get }

    /// The range of the history.
    func historyRange() throws -> StoreHistoryRange

    /// The entries after a number, the oldest first, and the range, all read from one committed state.
    ///
    /// - Parameter limit: The largest number of entries; 0 for all.
    func history(after number: UInt64, limit: Int) throws -> StoreHistoryPage

    /// The number of the newest entry with an earlier time; nil if there is none.
    func historyNumber(before date: Date) throws -> UInt64?

    /// Removes the entries up to a number, durably.
    func removeHistory(through number: UInt64) throws

    /// The registered consumers of the history.
    func historyConsumers() throws -> [StoreHistoryConsumer]

    /// Adds a consumer, or replaces the one with its name, durably.
    func setHistoryConsumer(_ consumer: StoreHistoryConsumer) throws

    /// Removes a consumer, durably.
    func removeHistoryConsumer(_ name: String) throws
}

/// The range of a store's history.
public struct StoreHistoryRange: Hashable, Sendable {
    /// The number up to which entries were removed or never recorded; 0 for a complete history.
    public var start: UInt64
    /// The highest number that was assigned.
    public var newest: UInt64
    /// The time of the newest entry; nil if there is none.
    public var newestTime: Date?

    /// A range of numbers.
    public init(start: UInt64 = 0, newest: UInt64 = 0, newestTime: Date? = nil) {
        (self.start, self.newest, self.newestTime) = (start, newest, newestTime)
    }
}

/// A part of a store's history.
public struct StoreHistoryPage: Hashable, Sendable {
    /// The range of the whole history.
    public var range: StoreHistoryRange
    /// The time of the newest entry up to the number after which the page begins; nil if there is none. It distinguishes a number of this
    /// history from a number of a history that a backup has replaced.
    public var timeBefore: Date?
    /// The entries, in the order of their numbers.
    public var records: [StoreHistoryRecord]

    /// A part of a history.
    public init(range: StoreHistoryRange, timeBefore: Date?, records: [StoreHistoryRecord]) {
        (self.range, self.timeBefore, self.records) = (range, timeBefore, records)
    }
}

/// An entry of a store's history with the number and the time that the store has given it.
public struct StoreHistoryRecord: Hashable, Sendable {
    /// The number of the commit.
    public var number: UInt64
    /// The time of the commit.
    public var time: Date
    /// The save or batch.
    public var entry: StoreHistoryEntry

    /// An entry with its number and its time.
    public init(number: UInt64, time: Date, entry: StoreHistoryEntry) {
        (self.number, self.time, self.entry) = (number, time, entry)
    }
}

/// A save or a batch in the history of a store: all changed objects by entity and kind of change.
public struct StoreHistoryEntry: Hashable, Sendable, Codable {
    /// Objects of one entity with the same kind of change.
    public struct Group: Hashable, Sendable, Codable {
        /// The name of the entity.
        public var entityName: String
        /// The kind of change.
        public var change: Change
        /// The keys of the objects, ascending.
        public var keys: [UInt64]

        /// Objects of one entity.
        public init(_ entityName: String, _ change: Change, _ keys: [UInt64]) {
            (self.entityName, self.change, self.keys) = (entityName, change, keys)
        }
    }

    /// The kinds of change.
    public enum Change: Hashable, Sendable, Codable {
        /// New objects.
        case inserted
        /// The names of the changed properties.
        case updated([String])
        /// The values of the attributes that history preserves (ATT-15), for each object; empty if the entity preserves none.
        case deleted([[String: PropertyValue]])
    }

    /// True for a batch request.
    public var isBatch: Bool
    /// The author of the save.
    public var author: String?
    /// The name of the context that saved.
    public var contextName: String?
    /// The process identifier of the process that saved.
    public var processIdentifier: Int32
    /// The name of the process that saved.
    public var processName: String?
    /// The changed objects: new ones, updated ones, deleted ones.
    public var groups: [Group]

    /// A save or a batch of this process.
    public init(isBatch: Bool = false, author: String? = nil, contextName: String? = nil, groups: [Group] = []) {
        (self.isBatch, self.author, self.contextName, self.groups) = (isBatch, author, contextName, groups)
        processIdentifier = ProcessInfo.processInfo.processIdentifier
        processName = ProcessInfo.processInfo.processName
    }
}

/// A registered reader of a store's history.
public struct StoreHistoryConsumer: Hashable, Sendable {
    /// The name of the consumer.
    public var name: String
    /// The number up to which the consumer has read.
    public var number: UInt64
    /// The time of the newest entry up to that number; nil if there was none.
    public var time: Date?
    /// The time at which the consumer reported its position.
    public var lastRead: Date

    /// A reader with its position.
    public init(name: String, number: UInt64, time: Date?, lastRead: Date) {
        (self.name, self.number, self.time, self.lastRead) = (name, number, time, lastRead)
    }
}
