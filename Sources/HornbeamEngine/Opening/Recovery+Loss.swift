// What an opening at an older state leaves out, and how the store goes on after it: no position of the log, no
// number of a segment and no object key that the lost part used is given out again.

extension Recovery {
    /// What is missing, if the opening was one that may leave something out and it did.
    func loss(_ opened: Opened, _ engine: Engine, _ reason: EngineError?) -> OpeningLoss? {
        guard options.startingPoint != .newest else { return nil }
        let newest = max(opened.states[0].transaction, newestLogged(opened.state))
        guard reason != nil || newest > engine.latest else { return nil }
        return OpeningLoss(
            transaction: engine.latest, newest: newest, reason: reason?.message,
            nextObjectKey: opened.states.map(\.nextObjectKey).max() ?? 0)
    }

    /// The newest transaction that the log still tells of.
    private func newestLogged(_ state: MetaState) -> TransactionNumber {
        var newest = TransactionNumber.zero
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: state.store)
        do throws(EngineError) {
            _ = unsafe try reader.replay(
                from: state.log, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed
            ) { (number, _, _) in newest = max(newest, number) }
        } catch {
            // A log that breaks off tells of fewer transactions; that it does is known already.
        }
        return newest
    }

    /// A place in the log beyond all that was written, and a segment's number that nobody used.
    func beyond(
        _ opened: Opened, _ mark: LogMark, _ next: LogSegmentNumber, _ noted: LogPosition
    ) throws(EngineError) -> (LogMark, LogSegmentNumber) {
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: opened.state.store)
        var mark = mark
        var next = opened.states.map(\.nextLogSegment).reduce(next, max)
        mark.position = opened.states.map(\.log.position).reduce(max(mark.position, noted), max)
        for number in try reader.segments() {
            next = max(next, number.next)
            // The header of a segment that cannot be read tells nothing, and nobody else will read a position from it.
            guard let segment = try? reader.open(number) else { continue }
            mark.position = max(mark.position, segment.start?.position ?? mark.position) + Int(segment.header.segmentBytes)
        }
        return (mark, next)
    }
}

extension Engine {
    /// Takes the keys of lost objects, and a good many that they may have had, out of the sequence.
    func skipLostKeys(_ loss: OpeningLoss) throws(EngineError) {
        let margin = 1 << 20
        let transaction = try begin()
        let known = loss.nextObjectKey - min(transaction.nextObjectKey, loss.nextObjectKey)
        _ = try transaction.reserve(Int(known) + margin)
        _ = try transaction.commit()
    }
}
