// The content of the meta file: the identity of the store and one checkpoint. The checkpoint and the log after it yield the newest
// durable state.

/// One checkpoint as recorded in the meta file.
package struct MetaState: Hashable, Sendable {
    // The store's identity, the same in every state of one store.
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

    // Files to keep, and numbers that must not be reused.
    /// The oldest log segment that replay from this state reads.
    package var oldestLogSegment: LogSegmentNumber
    package var nextLogSegment: LogSegmentNumber
    package var nextPageFile: PageFileNumber
    /// The state needs no log, so a missing log is no loss.
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
