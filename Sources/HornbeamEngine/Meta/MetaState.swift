// What the meta file says: the identity of the store and one checkpoint of it, from which, with the log behind it, the
// newest durable state can be rebuilt.

/// One checkpoint as the meta file names it.
package struct MetaState: Hashable, Sendable {
    // The store's identity; the same in every state of one store.
    package var store: StoreIdentifier
    /// Seeds the checks of pages.
    package var salt: UInt64
    /// Bytes of a logical page: 512 … 16,384, a power of two.
    package var pageSize: Int
    /// Features of the format that an older library may ignore.
    package var compatibleFeatures: UInt64 = 0

    // The checkpoint.
    /// Counts the checkpoints up from 1.
    package var checkpoint: UInt64
    /// Where replay of the log begins.
    package var log: LogMark
    /// The newest transaction in the checkpoint.
    package var transaction: TransactionNumber
    /// The next number of the store-wide sequence.
    package var nextObjectKey: UInt64
    package var catalogue: PageReference
    package var fileTable: PageReference

    // What must be kept and what must not be used again.
    /// The oldest log segment that replay from this state reads.
    package var oldestLogSegment: LogSegmentNumber
    package var nextLogSegment: LogSegmentNumber
    package var nextPageFile: PageFileNumber
    /// No log existed, or none was needed, when the state was written: a missing log is not a loss.
    package var isCleanlyClosed: Bool

    package init(
        store: StoreIdentifier, salt: UInt64, pageSize: Int, checkpoint: UInt64, log: LogMark,
        transaction: TransactionNumber, nextObjectKey: UInt64, catalogue: PageReference, fileTable: PageReference,
        oldestLogSegment: LogSegmentNumber, nextLogSegment: LogSegmentNumber, nextPageFile: PageFileNumber,
        isCleanlyClosed: Bool
    ) {
        self.store = store
        self.salt = salt
        self.pageSize = pageSize
        self.checkpoint = checkpoint
        self.log = log
        self.transaction = transaction
        self.nextObjectKey = nextObjectKey
        self.catalogue = catalogue
        self.fileTable = fileTable
        self.oldestLogSegment = oldestLogSegment
        self.nextLogSegment = nextLogSegment
        self.nextPageFile = nextPageFile
        self.isCleanlyClosed = isCleanlyClosed
    }
}

extension MetaState {
    /// One field a line, for dumps and bug reports.
    package var dump: String {
        """
        checkpoint \(checkpoint)\(isCleanlyClosed ? ", cleanly closed" : "")
          store \(store)
          page size \(pageSize)
          transaction \(transaction), next object key \(nextObjectKey)
          log \(log), oldest segment \(oldestLogSegment), next segment \(nextLogSegment)
          catalogue \(catalogue.placeDescription)
          file table \(fileTable.placeDescription)
          next page file \(nextPageFile)
        """
    }
}
