// Rules that make calls of a file system fail.

package import HornbeamEngine

/// The kinds of calls of a file system.
package enum FileSystemCall: String, Hashable, Sendable, CaseIterable {
    case open, create, createDirectory, syncDirectory, list, exists, rename, remove, lock
    case size, read, write, sync, close

    /// The calls that change the disk.
    package static let changing: Set<FileSystemCall> = [
        .create, .createDirectory, .syncDirectory, .rename, .remove, .write, .sync,
    ]
}

/// The role of a path in a store, by its last component.
package enum PathKind: String, Hashable, Sendable, CaseIterable {
    case meta, pages, log, spare, lock, other

    package init(path: String) {
        let name = lastComponent(ofPath: path)
        self = switch name {
        case "meta": .meta
        case "lock": .lock
        case _ where PreparedSegment.isName(name): .spare
        case _ where PageFileNumber(fileName: name) != nil: .pages
        case _ where LogSegmentNumber(fileName: name) != nil: .log
        default: .other
        }
    }
}

/// One fault: at one matching call, or at all from that call on.
package struct FaultRule: Sendable {
    /// The effect of a fault.
    package enum Effect: Sendable {
        /// The call fails and does nothing.
        case fail(EngineError.Code)
        /// A write writes its first half and fails with `full`; a read returns half of the bytes.
        case short
        /// A sync fails. The file still shows the new bytes, and no later sync makes them durable.
        case failSyncKeepingNew
        /// A sync fails, and the file shows its old bytes again.
        case failSyncRevertingToOld
        /// A sync reports success and does nothing.
        case lie
        /// A read returns one wrong bit.
        case flip
    }

    /// The calls that match; all if empty.
    package var calls: Set<FileSystemCall>
    /// The kind of paths that match; all if nil.
    package var kind: PathKind?
    /// The syncs that match; if nil, all calls match.
    package var site: SyncSite?
    /// The number of matching calls that succeed before the fault.
    package var after: Int
    /// Whether all later matching calls fail too.
    package var isSticky: Bool
    package var effect: Effect

    package init(
        _ effect: Effect, calls: Set<FileSystemCall> = [], kind: PathKind? = nil, site: SyncSite? = nil, after: Int = 0,
        isSticky: Bool = false
    ) {
        self.effect = effect
        self.calls = calls
        self.kind = kind
        self.site = site
        self.after = after
        self.isSticky = isSticky
    }

    func matches(_ call: FileSystemCall, _ kind: PathKind, _ site: SyncSite?) -> Bool {
        (calls.isEmpty || calls.contains(call)) && (self.kind == nil || self.kind == kind)
            && (self.site == nil || self.site == site)
    }
}
