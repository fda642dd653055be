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

/// One fault: begins at the n-th matching call, once or for all later calls.
package struct FaultRule: Sendable {
    /// The effect of a fault.
    package enum Effect: Sendable {
        /// Fails without effect.
        case fail(EngineError.Code)
        /// A write writes its first half and fails with `full`; a read stops half-way.
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

    /// Which calls count; all if empty.
    package var calls: Set<FileSystemCall>
    /// Which paths count; all if nil.
    package var kind: PathKind?
    /// Which syncs count; all calls if nil.
    package var site: SyncSite?
    /// How many matching calls succeed first.
    package var after: Int
    /// Whether every matching call fails from then on.
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
