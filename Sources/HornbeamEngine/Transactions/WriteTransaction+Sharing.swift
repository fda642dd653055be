// Several transactions that are carried out as one.
//
// Each has its own number, its own record in the log and is told of by itself, as if it had been committed alone. They share the nodes that they
// change, which are copied once, and the version that readers see: after a crash any number of the first may be there, and while the store
// is open all of them or none. An abort drops all.

extension WriteTransaction {
    /// Bytes of the log from which on no transaction is added.
    private static let sharedBytesMax = 64 << 10

    /// True while another transaction can share this one's version: its changes are few, and all in the log.
    package var canGoOn: Bool {
        !redo.isAbandoned && ledger.newBlobs.isEmpty && sharedBytes < Self.sharedBytesMax && ended.count < 64
    }

    /// What the log gets for this and those that ended in its nodes.
    var sharedBytes: Int { ended.reduce(redo.bytes.count) { $0 + $1.payload.count } }

    /// Ends a transaction here and begins another in its place, which sees its changes. One without changes leaves no trace.
    ///
    /// - Parameter published: Called with the number of the ended one once readers see it, before `commit` returns.
    /// - Returns: The number of the newest transaction that changed something.
    package func goOn(published: (@Sendable (TransactionNumber) -> Void)?) throws(EngineError) -> TransactionNumber {
        precondition(canGoOn, "A transaction that is large or has large values is committed by itself.")
        try carryOutWaiting()
        if redo.bytes.isEmpty { return ended.last?.number ?? base.number }
        ended.append(EndedTransaction(number: number, payload: redo.bytes, published: published))
        redo = Redo()
        defer { number = number.next }
        return number
    }

    /// Whether the version that the transaction makes has fewer entries than the one before. Of several that are carried out as one it
    /// is never said: an insert would pass beside a large delete. On a full disk they are refused, and each is tried by itself.
    func frees(_ version: StoreVersion) -> Bool { ended.isEmpty && version.entries < base.entries }

    /// Takes the last of the ended ones back when nothing was changed since, so that the version has the number of a change.
    ///
    /// - Returns: Who is to be told of it; nil when there was none.
    func reopenLast() -> (@Sendable (TransactionNumber) -> Void)?? {
        guard redo.bytes.isEmpty, !redo.isAbandoned, let last = ended.popLast() else { return nil }
        redo.bytes = last.payload
        number = last.number
        return last.published
    }
}
