/// The state of an object. Two bytes, because every fault stores one.
struct ObjectState: OptionSet {
    let rawValue: UInt16

    /// No values have been read.
    static let fault = ObjectState(rawValue: 1 << 0)
    /// The next save inserts it.
    static let inserted = ObjectState(rawValue: 1 << 1)
    /// Has changes that the next save writes.
    static let updated = ObjectState(rawValue: 1 << 2)
    /// The next save deletes it.
    static let deleted = ObjectState(rawValue: 1 << 3)
    /// Its ID is temporary.
    static let temporary = ObjectState(rawValue: 1 << 4)
    /// Reading it failed; the next fetch, count or save throws the error.
    static let failed = ObjectState(rawValue: 1 << 5)
    /// Its row does not exist: another context deleted it, or it never existed.
    static let gone = ObjectState(rawValue: 1 << 6)
    /// Listed in the context's `tracked` objects.
    static let tracked = ObjectState(rawValue: 1 << 7)
    /// Setters record no change: inside `awakeFromFetch`.
    static let silent = ObjectState(rawValue: 1 << 8)
    /// Belongs to no context: after a reset, or after a save of its deletion.
    static let detached = ObjectState(rawValue: 1 << 9)
    /// Changed since the last round of `willSave`.
    static let changedSinceWillSave = ObjectState(rawValue: 1 << 10)
    /// The next save checks it although it is unchanged (MOC-26).
    static let watched = ObjectState(rawValue: 1 << 11)

    /// Changed since the last `processPendingChanges`.
    static let touched = ObjectState(rawValue: 1 << 12)
    /// New, and assigned to a store (PSC-4).
    static let assigned = ObjectState(rawValue: 1 << 13)
    /// Inside `prepareForDeletion`.
    static let preparing = ObjectState(rawValue: 1 << 14)

    /// The states in which properties cannot be read directly from the row.
    static let notPlain: ObjectState = [.fault, .inserted, .gone, .failed, .detached]

    /// All changes that the next save writes.
    static let changes: ObjectState = [.inserted, .updated, .deleted]
}
