/// What an object is just now. Fits in two bytes, since every fault has one.
struct ObjectState: OptionSet {
    let rawValue: UInt16

    /// Nothing was read yet.
    static let fault = ObjectState(rawValue: 1 << 0)
    /// Will be written for the first time by the next save.
    static let inserted = ObjectState(rawValue: 1 << 1)
    /// Has changes that the next save writes.
    static let updated = ObjectState(rawValue: 1 << 2)
    /// Will be removed by the next save.
    static let deleted = ObjectState(rawValue: 1 << 3)
    /// Its ID is temporary.
    static let temporary = ObjectState(rawValue: 1 << 4)
    /// Reading it failed; `save()` throws the error.
    static let failed = ObjectState(rawValue: 1 << 5)
    /// Its row is gone: deleted by another context, or never there.
    static let gone = ObjectState(rawValue: 1 << 6)
    /// Listed in the context's `tracked` objects.
    static let tracked = ObjectState(rawValue: 1 << 7)
    /// Setters leave no change behind: inside `awakeFromFetch`.
    static let silent = ObjectState(rawValue: 1 << 8)
    /// Belongs to no context any more: reset, or its deletion was saved.
    static let detached = ObjectState(rawValue: 1 << 9)
    /// Changed since the last round of `willSave`.
    static let stirred = ObjectState(rawValue: 1 << 10)
    /// Checked at the next save though it is unchanged (MOC-26).
    static let watched = ObjectState(rawValue: 1 << 11)

    /// Changed since the last `processPendingChanges`.
    static let touched = ObjectState(rawValue: 1 << 12)
    /// New, and told which store to go into (PSC-4).
    static let assigned = ObjectState(rawValue: 1 << 13)
    /// Inside `prepareForDeletion`.
    static let preparing = ObjectState(rawValue: 1 << 14)

    /// What keeps properties from being read straight from the row.
    static let notPlain: ObjectState = [.fault, .inserted, .gone, .failed, .detached]

    /// Any change that the next save acts upon.
    static let changes: ObjectState = [.inserted, .updated, .deleted]
}
