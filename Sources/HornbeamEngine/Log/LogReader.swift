// Reads the log: finds the segments, verifies that they belong to the store and follow each other, and passes every transaction after a
// mark to the caller, in complete groups.
//
// A frame whose check does not match is either the end of the log or damage. It is damage if something proves that it was durable:
// - a group in a later segment, since a segment begins only when everything before it is durable;
// - a later group of the same segment whose own check is valid and whose durable position is beyond the frame;
// - a seal whose segment is missing;
// - a durable position that the caller knows, such as the durable LSN hint.
// With a proof the reader throws `logDamaged`, and no file is changed. Otherwise the frame and the bytes after it are a torn write that was
// never acknowledged.

/// Reads the log of one store.
package final class LogReader: Sendable {
    let directory: String
    let fileSystem: any FileSystem
    let store: StoreIdentifier
    private let listing: [String]?

    /// `listing` contains the names in the folder, if the caller knows them and the folder does not change.
    package init(directory: String, fileSystem: any FileSystem, store: StoreIdentifier, listing: [String]? = nil) {
        self.listing = listing
        self.directory = directory
        self.fileSystem = fileSystem
        self.store = store
    }

    /// The numbers of the existing segments, in order.
    package func segments() throws(EngineError) -> [LogSegmentNumber] {
        try fileSystem.list(directory, known: listing).compactMap(LogSegmentNumber.init(fileName:)).sorted()
    }

    /// Calls `body` with each transaction logged at or after `mark`, in order, and with the end of its group. Returns the end of the log. Changes
    /// no file.
    ///
    /// Ignores segments before `oldest`. All segments may be missing only if the store was `cleanlyClosed`. `knownDurable` is a durable
    /// position that the caller knows. Throws `logDamaged` when acknowledged commits are missing, possibly after calls of `body`.
    ///
    /// With a `limit`, which must be a durable position, reading ends there, because a writer may be writing the bytes after it.
    package func replay(
        from mark: LogMark, oldest: LogSegmentNumber, cleanlyClosed: Bool, knownDurable: LogPosition = .zero,
        upTo limit: LogPosition? = nil,
        _ body: (TransactionNumber, UnsafeRawBufferPointer, LogPosition) throws(EngineError) -> Void
    ) throws(EngineError) -> LogEnd {
        var end = LogEnd(mark: mark)
        if let limit, limit <= mark.position { return end }
        let chain = try openSegments(from: oldest, mark: mark, cleanlyClosed: cleanlyClosed)
        end.lastSegment = chain.last?.header.number
        if !chain.isEmpty { unsafe try replay(chain, &end, upTo: limit, body) }
        let promised = max(knownDurable, limit ?? .zero)
        guard promised <= end.mark.position else {
            throw .logDamaged(
                from: end.mark.position, to: promised, "the log ends before the position that was acknowledged",
                path: chain.last?.file.path ?? directory)
        }
        return end
    }

    /// Reads the segments in order.
    private func replay(
        _ chain: [LogSegment], _ end: inout LogEnd, upTo limit: LogPosition?,
        _ body: (TransactionNumber, UnsafeRawBufferPointer, LogPosition) throws(EngineError) -> Void
    ) throws(EngineError) {
        let begun = chain.prefix { $0.start != nil }
        var seed = try startSeed(begun.first, end.mark)
        for (index, segment) in begun.enumerated() {
            let next = index + 1 < begun.count ? begun[index + 1] : nil
            let nextStart = next?.start
            while nextStart.map({ end.mark.position < $0.position }) ?? true {
                if let limit, end.mark.position >= limit { return }
                guard let group = try segment.group(at: end.mark.position, seed: seed) else { break }
                unsafe try group.forEachTransaction { (number, payload) throws(EngineError) in
                    unsafe try body(number, payload, group.end.position)
                    end.lastTransaction = number
                    end.transactions += 1
                }
                end.bytes += group.end.position.rawValue - end.mark.position.rawValue
                end.groups += 1
                assert(group.end.position > end.mark.position, "Each group moves the end of the log.")
                end.mark = group.end
                seed = group.end.check
            }
            guard let next, let nextStart else { break }
            guard end.mark == nextStart else {
                throw .logDamaged(
                    from: end.mark.position, to: max(nextStart.position, end.mark.position),
                    "the log ends before the next segment, \(next.header.number)", path: segment.file.path)
            }
            seed = next.header.check
        }
        guard limit == nil else { return }
        // The segments after the last group are preallocated: they have no group, or one that was not written completely.
        let unused = chain[begun.endIndex...]
        try begun.last?.checkEnd(at: end.mark.position, isFollowed: !unused.isEmpty)
        for (index, segment) in zip(unused.indices, unused) {
            try segment.beginning(at: end.mark).checkEnd(at: end.mark.position, isFollowed: index < unused.endIndex - 1)
        }
    }

    /// The seed of the first frame after the mark.
    private func startSeed(_ segment: LogSegment?, _ mark: LogMark) throws(EngineError) -> UInt64 {
        guard let segment, let start = segment.start else { return mark.check }
        guard start.position == mark.position else {
            guard segment.offset(of: mark.position) <= segment.header.segmentBytes else {
                throw .logDamaged(
                    from: mark.position, to: mark.position, "the log ends before the store's last checkpoint", path: segment.file.path)
            }
            return mark.check
        }
        guard start.check == mark.check else {
            throw .logDamaged(
                from: mark.position, to: mark.position, "the segment does not continue the store's last checkpoint",
                path: segment.file.path)
        }
        return segment.header.check
    }
}
