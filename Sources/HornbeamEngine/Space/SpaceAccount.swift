// Counts the live bytes of each page file, and finds the files that no version needs.
//
// A page is dead when a transaction has replaced it; a blob is dead when its row has been deleted or replaced. The checkpoint of version v
// subtracts the bytes of all pages and blobs that died up to v, and writes the file table. A walk over the trees yields the same counts.
//
// The file table, little-endian: u32 number of files; then for each file u32 number | u64 live bytes | u64 the transaction from which
// on no version needs the file (2⁶⁴−1 while the newest version needs it).

import HornbeamThreads
import Synchronization

/// The live bytes of each page file.
struct FileTable: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var live: Int64 = 0
        var emptySince: UInt64 = .max

        /// Adds the bytes of a new page. The file counts as needed from then on, even if the page is dead already.
        mutating func addBytes(_ bytes: Int) {
            assert(bytes >= 0, "A page takes bytes.")
            live += Int64(bytes)
            emptySince = .max
        }
    }

    var entries: [PageFileNumber: Entry] = [:]

    var liveBytes: Int { entries.values.reduce(0) { $0 + Int(max($1.live, 0)) } }

    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendInteger(UInt32(entries.count))
        for (number, entry) in entries.sorted(by: { $0.key < $1.key }) {
            bytes.appendInteger(number.rawValue)
            bytes.appendInteger(entry.live)
            bytes.appendInteger(entry.emptySince)
        }
        return bytes
    }

    static func decode(_ bytes: [UInt8]) throws(EngineError) -> FileTable {
        try bytes.withBorrowedBytes { raw throws(EngineError) in
            var reader = ByteReader(raw)
            var table = FileTable()
            var last: PageFileNumber?
            for _ in 0..<(try reader.integer(UInt32.self)) {
                let number = PageFileNumber(try reader.integer(UInt32.self))
                let live = try reader.integer(Int64.self)
                let emptySince = try reader.integer(UInt64.self)
                guard number >= .first, number <= .last, last.map({ $0 < number }) ?? true else {
                    throw EngineError(.damaged, "The file table lists page file number \(number.rawValue), which is out of order or out of range.")
                }
                guard live >= 0, live <= Int64(PageFiles.fileBytesMax) else {
                    throw EngineError(.damaged, "The file table counts \(live) live bytes in page file \(number).")
                }
                guard emptySince < StoreLimits.numberMax || emptySince == .max else {
                    throw EngineError(.damaged, "The file table has page file \(number) as empty since transaction \(emptySince), which is out of range.")
                }
                table.entries[number] = Entry(live: live, emptySince: emptySince)
                last = number
            }
            guard reader.isAtEnd else { throw EngineError(.damaged, "The file table is longer than its files.") }
            return table
        }
    }
}

/// The file table of the last checkpoint, and the pages and blobs that have been added or replaced since.
final class SpaceAccount: Sendable {
    let files: PageFiles
    let policy: SpacePolicy
    private let state: Guarded<State>
    private let lagInQuarters = Atomic(0)

    private struct State {
        var table: FileTable {
            didSet { live = table.liveBytes }
        }
        var live: Int
        /// The version that the table describes.
        var version: TransactionNumber
        /// For each file, a version whose pages were all on disk before the file was created. So readers of that version, and of older
        /// versions, do not need the file.
        var bornAfter: [PageFileNumber: TransactionNumber] = [:]
        /// Bytes on disk that have died since the last checkpoint.
        var replaced = 0
        // Pages and blobs that transactions replaced or added, with the numbers of the transactions, in ascending order.
        var dead: [(page: PageReference, at: UInt64)] = []
        var deadBlobs: [(blob: PageReference, at: UInt64)] = []
        var newBlobs: [(blob: PageReference, at: UInt64)] = []
        /// Files with pages of the running transaction. The table does not count these pages before the commit.
        var filesOfTransaction: Set<PageFileNumber> = []
    }

    init(files: PageFiles, table: FileTable, version: TransactionNumber, policy: SpacePolicy) {
        self.files = files
        self.policy = policy
        let born = table.entries.mapValues { _ in TransactionNumber.zero }
        state = Guarded(State(table: table, live: table.liveBytes, version: version, bornAfter: born))
    }

    /// Records the changes of an executed transaction.
    func recordChanges(_ number: TransactionNumber, deadPages: [PageReference], deadBlobs: [PageReference], newBlobs: [PageReference]) {
        guard !deadPages.isEmpty || !deadBlobs.isEmpty || !newBlobs.isEmpty else { return }
        assert((deadPages + deadBlobs + newBlobs).allSatisfy { !$0.isInMemory }, "Only bytes of page files are counted.")
        state.withLock { state in
            state.dead += deadPages.map { ($0, number.rawValue) }
            state.deadBlobs += deadBlobs.map { ($0, number.rawValue) }
            state.newBlobs += newBlobs.map { ($0, number.rawValue) }
            setReplaced(state.replaced + (deadPages + deadBlobs).reduce(0) { $0 + $1.recordBytes }, &state)
        }
    }

    /// The file table of a version, including the pages that its checkpoint wrote.
    func table(at version: TransactionNumber, written: [PageReference]) throws(EngineError) -> FileTable {
        let (table, dead, deadBlobs, newBlobs) = state.withLock { state in
            (
                state.table, state.dead.filter { $0.at <= version.rawValue }.map(\.page),
                state.deadBlobs.filter { $0.at <= version.rawValue }.map(\.blob),
                state.newBlobs.filter { $0.at <= version.rawValue }.map(\.blob)
            )
        }
        var entries = table.entries
        for page in written { entries[page.file, default: .init()].addBytes(page.recordBytes) }
        for blob in newBlobs {
            try files.forEachBlobPage(blob) { page throws(EngineError) in
                entries[page.file, default: .init()].addBytes(page.recordBytes)
            }
        }
        for page in dead { entries[page.file, default: .init()].live -= Int64(page.recordBytes) }
        for blob in deadBlobs {
            do throws(EngineError) {
                try files.forEachBlobPage(blob) { page throws(EngineError) in
                    entries[page.file, default: .init()].live -= Int64(page.recordBytes)
                }
            } catch {
                // The bytes of a dead blob with a damaged index still count as live; the checkpoint continues.
                guard error.isUnreadable else { throw error }
            }
        }
        assert(written.allSatisfy { !$0.isInMemory && $0.recordBytes > 0 }, "A checkpoint writes to page files.")
        let present = Set(try files.files().map(\.number))
        state.withLock { state in
            for number in present where state.bornAfter[number] == nil { state.bornAfter[number] = state.version }
        }
        for number in present where entries[number] == nil { entries[number] = .init() }
        entries = entries.filter { present.contains($0.key) || $0.value.live > 0 }
        for (number, entry) in entries {
            let emptySince = entry.live > 0 ? UInt64.max : min(entry.emptySince, version.rawValue)
            // A store whose table has a negative count cannot be opened.
            entries[number] = FileTable.Entry(live: max(entry.live, 0), emptySince: emptySince)
        }
        return FileTable(entries: entries)
    }

    /// Replaces the table after the pages of a version have become durable. Only a checkpoint resets the count of replaced bytes: a big
    /// transaction writes pages too, but the old pages are needed until a checkpoint.
    func replaceTable(_ table: FileTable, _ version: TransactionNumber, isCheckpoint: Bool) {
        state.withLock { state in
            assert(version >= state.version, "The table is never replaced by an older one.")
            assert(table.entries.values.allSatisfy { $0.live >= 0 }, "Live bytes are never negative.")
            state.table = table
            state.version = version
            state.dead.removeAll { $0.at <= version.rawValue }
            state.deadBlobs.removeAll { $0.at <= version.rawValue }
            state.newBlobs.removeAll { $0.at <= version.rawValue }
            assert((state.dead.map(\.at) + state.deadBlobs.map(\.at)).allSatisfy { $0 > version.rawValue }, "A table includes the deaths before it.")
            guard isCheckpoint else { return }
            setReplaced((state.dead.map(\.page) + state.deadBlobs.map(\.blob)).reduce(0) { $0 + $1.recordBytes }, &state)
        }
    }

    /// Removes the changes of transactions with numbers above `number`. These transactions were undone.
    func undo(above number: TransactionNumber) {
        state.withLock { state in
            let undone = (state.dead + state.deadBlobs.map { ($0.blob, $0.at) }).filter { $0.at > number.rawValue }
            state.dead.removeAll { $0.at > number.rawValue }
            state.deadBlobs.removeAll { $0.at > number.rawValue }
            state.newBlobs.removeAll { $0.at > number.rawValue }
            assert(number >= state.version, "The version of a table is never undone.")
            setReplaced(state.replaced - undone.reduce(0) { $0 + $1.page.recordBytes }, &state)
        }
    }

    private func setReplaced(_ bytes: Int, _ state: inout State) {
        assert(bytes >= 0, "Replaced bytes are never negative.")
        state.replaced = bytes
        lagInQuarters.store(policy.lag(replaced: bytes, live: state.live), ordering: .relaxed)
    }

    /// Removes a page file from the table.
    func forget(_ file: PageFileNumber) {
        state.withLock { state in
            assert(state.table.entries[file].map { $0.live == 0 } ?? true, "A file with live bytes is not forgotten.")
            state.table.entries[file] = nil
            state.bornAfter[file] = nil
        }
    }

    /// Records files that contain pages of the running transaction. They are needed, whatever the table counts.
    func keep(_ files: Set<PageFileNumber>) { state.withLock { $0.filesOfTransaction.formUnion(files) } }

    /// The table counts the pages in these files now, or nothing needs them.
    func endKeeping(_ files: Set<PageFileNumber>) { state.withLock { $0.filesOfTransaction.subtract(files) } }

    var filesOfTransaction: Set<PageFileNumber> { state.withLock { $0.filesOfTransaction } }

    /// Files with blobs of transactions after the last checkpoint.
    func filesOfNewBlobs() throws(EngineError) -> Set<PageFileNumber> {
        var numbers: Set<PageFileNumber> = []
        for (blob, _) in state.withLock({ $0.newBlobs }) {
            try files.forEachBlobPage(blob) { page throws(EngineError) in numbers.insert(page.file) }
        }
        return numbers
    }

    var table: FileTable { state.withLock { $0.table } }

    /// The table, and the version that it describes.
    var tableAndVersion: (table: FileTable, version: TransactionNumber) { state.withLock { ($0.table, $0.version) } }

    /// The table, and for each file the version before its creation (`bornAfter`).
    var tableAndBirths: (table: FileTable, born: [PageFileNumber: TransactionNumber]) {
        state.withLock { ($0.table, $0.bornAfter) }
    }

    /// The bytes of the pages that were replaced since the last checkpoint, by file and together.
    var replacedBytes: (byFile: [PageFileNumber: Int], sum: Int) {
        state.withLock { state in
            let byFile = state.dead.reduce(into: [:]) { $0[$1.page.file, default: 0] += $1.page.recordBytes }
            return (byFile, state.replaced)
        }
    }

    /// The length of a full log segment.
    var segmentBytes: Int { state.withLock { policy.segmentBytes(live: $0.live) } }

    /// True if a checkpoint is due, because many bytes were replaced or logged since the last one.
    func isCheckpointDue(logged: Int) -> Bool {
        state.withLock { policy.isCheckpointDue(replaced: $0.replaced, logged: logged, live: $0.live) }
    }

    /// The lag of checkpoints behind commits (`SpacePolicy.lag`). Reads it without a lock.
    var lag: Int { lagInQuarters.load(ordering: .relaxed) }

    /// True if a checkpoint may be throttled.
    var mayThrottle: Bool { state.withLock { policy.mayThrottle(replaced: $0.replaced, live: $0.live) } }

    /// True if the log grows faster than checkpoints release it.
    func isLogOverdue(logged: Int) -> Bool {
        state.withLock { policy.isLogOverdue(replaced: $0.replaced, logged: logged, live: $0.live) }
    }
}

extension PageFiles {
    /// The page files that contain records of a blob.
    func filesOfBlob(_ blob: PageReference) throws(EngineError) -> Set<PageFileNumber> {
        var numbers: Set<PageFileNumber> = []
        try forEachBlobPage(blob) { page throws(EngineError) in numbers.insert(page.file) }
        return numbers
    }
}
