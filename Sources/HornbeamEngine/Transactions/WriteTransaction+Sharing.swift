// Several transactions that share one version.
//
// Each has its own number, its own log record and its own `published` callback, like a transaction that is committed alone. They share the
// changed nodes, which are copied only once, and the version. After a crash, the store may contain only the first of them. Readers of the open
// store see all of them or none. An abort undoes all.

extension WriteTransaction {
    /// The limit of `sharedBytes` for adding a transaction.
    private static let sharedBytesMax = 64 << 10

    /// True if another transaction can share this version: the changes so far are few, and the redo contains all of them. Never true without redo, whose
    /// length limits the changes of one version.
    package var canAddTransaction: Bool {
        !redo.isAbandoned && !redo.isOmitted && ledger.newBlobs.isEmpty && sharedBytes < Self.sharedBytesMax && ended.count < 64
    }

    /// The bytes of redo of this transaction and of the ended transactions that share its version.
    var sharedBytes: Int { ended.reduce(redo.bytes.count) { $0 + $1.payload.count } }

    /// Ends the current transaction and begins the next one, which shares its version and reads its changes. A transaction without changes gets no
    /// number.
    ///
    /// - Parameter published: Called with the number of the ended transaction when its version is published, before `commit` returns.
    /// - Returns: The number of the newest transaction with changes.
    package func endAndBeginNext(published: (@Sendable (TransactionNumber) -> Void)?) throws(EngineError) -> TransactionNumber {
        precondition(canAddTransaction, "A transaction that is large or has large values is committed by itself.")
        try applyDeferred()
        if redo.bytes.isEmpty { return ended.last?.number ?? base.number }
        assert((ended.last?.number ?? base.number) < number, "Transactions end in the order of their numbers.")
        assert(canAddTransaction && !isDeferred, "Only executed changes are shared.")
        ended.append(EndedTransaction(number: number, payload: redo.bytes, published: published))
        redo = Redo()
        defer { number = number.next }
        return number
    }

    /// Whether the version has fewer entries than its base. Always false for several transactions with one version: otherwise a large delete would
    /// permit an insert on a full disk. There they are refused together, and the caller tries each of them alone.
    func frees(_ version: StoreVersion) -> Bool { ended.isEmpty && version.entries < base.entries }

    /// If the current transaction has no changes, continues the last ended transaction instead, so that the version gets its number.
    ///
    /// - Returns: The `published` callback of that transaction; nil if there was none.
    func continueLastEnded() -> (@Sendable (TransactionNumber) -> Void)?? {
        guard redo.bytes.isEmpty, !redo.isAbandoned, let last = ended.popLast() else { return nil }
        assert(last.number.next == number, "The last ended transaction is the one before.")
        redo.bytes = last.payload
        number = last.number
        return last.published
    }
}
