/// The size of a store, and the snapshots that prevent it from shrinking.
public struct StoreSpace: Sendable, Hashable, CustomStringConvertible {
    /// Bytes of all files of the store.
    public var fileBytes = 0
    /// Bytes of the files that hold pages.
    public var pageBytes = 0
    /// Bytes of pages that the newest version needs.
    public var liveBytes = 0
    /// Bytes of pages that only older snapshots need: those with a reader, and retained ones.
    public var pinnedBytes = 0
    /// The time since a newer version replaced the oldest snapshot in use; nil when only the newest version is in use.
    public var oldestSnapshotAge: Duration?
    /// The number of readable snapshots, with that of the newest version.
    public var snapshots = 1

    /// All figures zero.
    public init() {}

    /// Bytes in page files that neither the newest version nor an older snapshot needs. Cleaning frees them.
    public var deadBytes: Int { max(pageBytes - liveBytes - pinnedBytes, 0) }

    public var description: String {
        let pinned = pinnedBytes == 0 ? "" : ", \(pinnedBytes) pinned"
        let age = oldestSnapshotAge.map { ", oldest snapshot \($0)" } ?? ""
        return "\(fileBytes) bytes: \(liveBytes) live, \(deadBytes) dead\(pinned)\(age)"
    }
}
