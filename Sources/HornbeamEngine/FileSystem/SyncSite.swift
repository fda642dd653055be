// The places at which the engine syncs. The crash harness omits each of them in turn and must find a loss each time. This proves that every
// sync is needed.

/// A place in the engine that syncs. Each comment names the synced data, and after the colon what a crash could destroy without the sync.
package enum SyncSite: String, Hashable, Sendable, CaseIterable {
    /// A group of commits, before they are acknowledged: the commits.
    case commits
    /// The rest of a full log segment: lazy commits that a later full commit covers.
    case segmentEnd
    /// The header of a new log segment, before the segment gets its name: the segment, with all that is logged in it.
    case segmentHeader
    /// The name of a new log segment: the same loss.
    case segmentName
    /// Appended pages, before `meta` or the log names them: the checkpoint, the big transaction.
    case pages
    /// Values too large for a leaf, before the log names them: the commits that refer to them.
    case largeValues
    /// The names of new page files: the same loss.
    case pageFileNames
    /// The slot of `meta` that names a checkpoint, before older log segments are removed: the whole store.
    case meta
    /// The files of a backup, before it gets its name: a backup that cannot be opened.
    case backup
    /// The content of a new store's folder, before it gets its name: a store without `meta`.
    case newStore
    /// The name of a new store: the store.
    case newStoreName
}
