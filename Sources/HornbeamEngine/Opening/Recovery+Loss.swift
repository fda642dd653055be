// The lost transactions when a store is opened at an older state. The store does not reuse log positions, segment numbers and object keys of
// the lost part.

extension Recovery {
    /// The loss; nil if the options do not permit one, or if no transaction is missing.
    func loss(_ opened: Opened, _ engine: Engine, _ reason: EngineError?) -> OpeningLoss? {
        guard options.startingPoint != .newest else { return nil }
        let newest = max(opened.states[0].transaction, newestLogged(opened.state))
        guard reason != nil || newest > engine.latest else { return nil }
        return OpeningLoss(
            transaction: engine.latest, newest: newest, reason: reason?.message,
            nextObjectKey: opened.states.map(\.nextObjectKey).max() ?? 0)
    }

    /// The newest transaction in the readable log.
    private func newestLogged(_ state: MetaState) -> TransactionNumber {
        var newest = TransactionNumber.zero
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: state.store)
        do throws(EngineError) {
            _ = unsafe try reader.replay(
                from: state.log, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed
            ) { (number, _, _) in newest = max(newest, number) }
        } catch {
            // Transactions after the damage are not counted. The damage itself has been reported already.
        }
        return newest
    }

    /// A log position after all written positions, and an unused segment number.
    func beyond(
        _ opened: Opened, _ mark: LogMark, _ next: LogSegmentNumber, _ noted: LogPosition
    ) throws(EngineError) -> (LogMark, LogSegmentNumber) {
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: opened.state.store)
        var mark = mark
        var next = opened.states.map(\.nextLogSegment).reduce(next, max)
        mark.position = opened.states.map(\.log.position).reduce(max(mark.position, noted), max)
        for number in try reader.segments() {
            next = max(next, number.next)
            // A segment with an unreadable header is ignored; no other reader can get positions from it.
            guard let segment = try? reader.open(number) else { continue }
            mark.position = max(mark.position, segment.start?.position ?? mark.position) + Int(segment.header.segmentBytes)
        }
        return (mark, next)
    }
}

extension Engine {
    /// Skips the object keys of lost objects, and a margin of keys that lost transactions may have assigned.
    func skipLostKeys(_ loss: OpeningLoss) throws(EngineError) {
        let margin = 1 << 20
        let transaction = try begin()
        let known = loss.nextObjectKey - min(transaction.nextObjectKey, loss.nextObjectKey)
        _ = try transaction.reserve(Int(known) + margin)
        _ = try transaction.commit()
    }
}
