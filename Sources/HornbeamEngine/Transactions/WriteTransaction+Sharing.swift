// Several transactions that are executed as one.
//
// Each has its own number, its own log record and its own `published` callback, like a transaction that is committed alone. They share the
// changed nodes, which are copied once, and the version that readers see. After a crash any number of the first may be present; in an open
// store all of them are, or none. An abort drops all.

extension WriteTransaction {
    /// With more bytes of redo, no transaction is added.
    private static let sharedBytesMax = 64 << 10

    /// True while another transaction can share this one's version: its changes are few, and all in the log.
    package var canGoOn: Bool {
        !redo.isAbandoned && ledger.newBlobs.isEmpty && sharedBytes < Self.sharedBytesMax && ended.count < 64
    }

    /// Bytes of redo of this transaction and of those that ended before it in its nodes.
    var sharedBytes: Int { ended.reduce(redo.bytes.count) { $0 + $1.payload.count } }

    /// Ends a transaction here and begins the next one in its nodes, which sees its changes. A transaction without changes is dropped.
    ///
    /// - Parameter published: Called with the number of the ended transaction when readers see it, before `commit` returns.
    /// - Returns: The number of the newest transaction that changed something.
    package func goOn(published: (@Sendable (TransactionNumber) -> Void)?) throws(EngineError) -> TransactionNumber {
        precondition(canGoOn, "A transaction that is large or has large values is committed by itself.")
        try applyDeferred()
        if redo.bytes.isEmpty { return ended.last?.number ?? base.number }
        assert((ended.last?.number ?? base.number) < number, "Transactions end in the order of their numbers.")
        assert(canGoOn && !isDeferred, "Only executed changes are shared.")
        ended.append(EndedTransaction(number: number, payload: redo.bytes, published: published))
        redo = Redo()
        defer { number = number.next }
        return number
    }

    /// Whether the version has fewer entries than the one before. Never true for several transactions in one version, since an insert would
    /// pass beside a large delete. On a full disk they are refused, and the caller tries each alone.
    func frees(_ version: StoreVersion) -> Bool { ended.isEmpty && version.entries < base.entries }

    /// Takes back the last ended transaction if nothing was changed since, so that the version has the number of a change.
    ///
    /// - Returns: Its `published` callback; nil when there was no such transaction.
    func reopenLast() -> (@Sendable (TransactionNumber) -> Void)?? {
        guard redo.bytes.isEmpty, !redo.isAbandoned, let last = ended.popLast() else { return nil }
        assert(last.number.next == number, "The last ended transaction is the one before.")
        redo.bytes = last.payload
        number = last.number
        return last.published
    }
}
