// The content of a slot of the meta file: the identity of the store and one checkpoint. Replaying the log after the checkpoint yields the
// newest durable state.

/// One checkpoint as recorded in the meta file.
package struct MetaState: Hashable, Sendable {
    // The store's identity, the same in every state of one store.
    package var store: StoreIdentifier
    /// The seed for the checks of pages.
    package var salt: UInt64
    /// Bytes of a page before compression: 512 … 16,384, a power of two.
    package var pageSize: Int
    /// Features of the format that an older library may ignore.
    package var compatibleFeatures: UInt64 = 0
    /// True if an index of the checkpoint has an insert buffer, which a library without them would not read.
    package var hasInsertBuffers = false

    // The checkpoint.
    /// The number of the checkpoint. The first has the number 1.
    package var checkpoint: UInt64
    /// The position in the log at which replay begins.
    package var log: LogMark
    /// The newest transaction that the checkpoint includes.
    package var transaction: TransactionNumber
    /// The next object key that the store assigns.
    package var nextObjectKey: UInt64
    package var catalogue: PageReference
    package var fileTable: PageReference

    // Files that this state needs, and numbers that must not be reused.
    /// The oldest log segment that a replay from this state reads.
    package var oldestLogSegment: LogSegmentNumber
    package var nextLogSegment: LogSegmentNumber
    package var nextPageFile: PageFileNumber
    /// True if the checkpoint includes all transactions, so that no log is needed.
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
    /// The fields as text, for dumps and bug reports.
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
