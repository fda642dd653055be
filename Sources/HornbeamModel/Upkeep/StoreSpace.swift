/// How much room a store takes, and what keeps it.
public struct StoreSpace: Sendable, Hashable, CustomStringConvertible {
    /// Bytes of all files of the store.
    public var fileBytes = 0
    /// Bytes of the files that hold pages.
    public var pageBytes = 0
    /// Bytes of pages that the newest state needs.
    public var liveBytes = 0
    /// Bytes that are kept only for states that somebody still reads, or that were retained on purpose.
    public var pinnedBytes = 0
    /// How long ago the oldest state that is still read or retained was replaced; nil when it is the newest.
    public var oldestSnapshotAge: Duration?
    /// States that can be read, the newest included.
    public var snapshots = 1

    /// All figures zero.
    public init() {}

    /// Bytes in page files that neither the newest state nor a reader needs: cleaning wins them back.
    public var deadBytes: Int { max(pageBytes - liveBytes - pinnedBytes, 0) }

    public var description: String {
        let pinned = pinnedBytes == 0 ? "" : ", \(pinnedBytes) pinned"
        let age = oldestSnapshotAge.map { ", oldest snapshot \($0)" } ?? ""
        return "\(fileBytes) bytes: \(liveBytes) live, \(deadBytes) dead\(pinned)\(age)"
    }
}
