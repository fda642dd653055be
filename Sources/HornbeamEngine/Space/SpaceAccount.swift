// How many bytes of each page file are still needed, and which files are needed no more.
//
// Pages die when a transaction replaces them, blobs when their row goes; a checkpoint of version v settles all
// deaths up to v. The account is written with the checkpoint and can be recounted by walking the trees.
//
// File table, little-endian: u32 files, then per file u32 number | u64 live bytes | u64 the transaction from which
// on no version needs the file (2⁶⁴−1 = still needed).

import HornbeamThreads
import Synchronization

/// Live bytes per page file.
struct FileTable: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var live: Int64 = 0
        var emptySince: UInt64 = .max

        /// A page was born in the file, so that a version needed it since, even if it is dead again by now.
        mutating func gain(_ bytes: Int) {
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
        try bytes.lend { raw throws(EngineError) in
            var reader = ByteReader(raw)
            var table = FileTable()
            var last: PageFileNumber?
            for _ in 0..<(try reader.integer(UInt32.self)) {
                let number = PageFileNumber(try reader.integer(UInt32.self))
                let live = try reader.integer(Int64.self)
                let emptySince = try reader.integer(UInt64.self)
                guard number >= .first, number <= .last, last.map({ $0 < number }) ?? true else {
                    throw EngineError(.damaged, "The file table names the page file \(number.rawValue) out of order, or one that cannot be.")
                }
                guard live >= 0, live <= Int64(PageFiles.fileBytesMax) else {
                    throw EngineError(.damaged, "The file table counts \(live) live bytes in page file \(number).")
                }
                guard emptySince < StoreLimits.numberMax || emptySince == .max else {
                    throw EngineError(.damaged, "The file table calls page file \(number) empty since transaction \(emptySince).")
                }
                table.entries[number] = Entry(live: live, emptySince: emptySince)
                last = number
            }
            guard reader.isAtEnd else { throw EngineError(.damaged, "The file table is longer than its files.") }
            return table
        }
    }
}

/// Births and deaths of pages since the last checkpoint.
final class SpaceAccount: Sendable {
    let files: PageFiles
    let policy: SpacePolicy
    private let state: Guarded<State>
    private let quartersBehind = Atomic(0)

    private struct State {
        var table: FileTable {
            didSet { live = table.liveBytes }
        }
        var live: Int
        /// The version that the table is of.
        var version: TransactionNumber
        /// Of each file, a version all of whose nodes were on disk when the file was begun: what is in it is younger,
        /// and whoever reads that version or an older one does not need it.
        var bornAfter: [PageFileNumber: TransactionNumber] = [:]
        /// Bytes on disk that were replaced since the last checkpoint.
        var replaced = 0
        /// What transactions replaced or added, by the number of the transaction; ascending.
        var dead: [(page: PageReference, at: UInt64)] = []
        var deadBlobs: [(blob: PageReference, at: UInt64)] = []
        var newBlobs: [(blob: PageReference, at: UInt64)] = []
    }

    init(files: PageFiles, table: FileTable, version: TransactionNumber, policy: SpacePolicy) {
        self.files = files
        self.policy = policy
        let born = table.entries.mapValues { _ in TransactionNumber.zero }
        state = Guarded(State(table: table, live: table.liveBytes, version: version, bornAfter: born))
    }

    /// A transaction was executed.
    func note(_ number: TransactionNumber, deadPages: [PageReference], deadBlobs: [PageReference], newBlobs: [PageReference]) {
        guard !deadPages.isEmpty || !deadBlobs.isEmpty || !newBlobs.isEmpty else { return }
        state.withLock { state in
            state.dead += deadPages.map { ($0, number.rawValue) }
            state.deadBlobs += deadBlobs.map { ($0, number.rawValue) }
            state.newBlobs += newBlobs.map { ($0, number.rawValue) }
            setReplaced(state.replaced + (deadPages + deadBlobs).reduce(0) { $0 + $1.recordBytes }, &state)
        }
    }

    /// The table as of a version, with the pages that its checkpoint wrote.
    func settle(_ version: TransactionNumber, written: [PageReference]) throws(EngineError) -> FileTable {
        let (table, dead, deadBlobs, newBlobs) = state.withLock { state in
            (
                state.table, state.dead.filter { $0.at <= version.rawValue }.map(\.page),
                state.deadBlobs.filter { $0.at <= version.rawValue }.map(\.blob),
                state.newBlobs.filter { $0.at <= version.rawValue }.map(\.blob)
            )
        }
        var entries = table.entries
        for page in written { entries[page.file, default: .init()].gain(page.recordBytes) }
        for blob in newBlobs {
            try files.forEachBlobPage(blob) { page throws(EngineError) in
                entries[page.file, default: .init()].gain(page.recordBytes)
            }
        }
        for page in dead { entries[page.file, default: .init()].live -= Int64(page.recordBytes) }
        for blob in deadBlobs {
            do throws(EngineError) {
                try files.forEachBlobPage(blob) { page throws(EngineError) in
                    entries[page.file, default: .init()].live -= Int64(page.recordBytes)
                }
            } catch {
                // A dead value whose index cannot be read keeps its bytes counted; that must not stop a checkpoint.
                guard error.code == .damaged else { throw error }
            }
        }
        let present = Set(try files.files().map(\.number))
        state.withLock { state in
            for number in present where state.bornAfter[number] == nil { state.bornAfter[number] = state.version }
        }
        for number in present where entries[number] == nil { entries[number] = .init() }
        entries = entries.filter { present.contains($0.key) || $0.value.live > 0 }
        for (number, entry) in entries {
            let emptySince = entry.live > 0 ? UInt64.max : min(entry.emptySince, version.rawValue)
            // A table with a negative count is refused when the store is opened.
            entries[number] = FileTable.Entry(live: max(entry.live, 0), emptySince: emptySince)
        }
        return FileTable(entries: entries)
    }

    /// A version's pages are durable: its table is the one to build on. What was replaced goes with a checkpoint only; a
    /// big transaction's pages leave the old ones where they are.
    func adopt(_ table: FileTable, _ version: TransactionNumber, isCheckpoint: Bool) {
        state.withLock { state in
            state.table = table
            state.version = version
            state.dead.removeAll { $0.at <= version.rawValue }
            state.deadBlobs.removeAll { $0.at <= version.rawValue }
            state.newBlobs.removeAll { $0.at <= version.rawValue }
            guard isCheckpoint else { return }
            setReplaced((state.dead.map(\.page) + state.deadBlobs.map(\.blob)).reduce(0) { $0 + $1.recordBytes }, &state)
        }
    }

    /// Transactions above a number were undone.
    func undo(above number: TransactionNumber) {
        state.withLock { state in
            let undone = (state.dead + state.deadBlobs.map { ($0.blob, $0.at) }).filter { $0.at > number.rawValue }
            state.dead.removeAll { $0.at > number.rawValue }
            state.deadBlobs.removeAll { $0.at > number.rawValue }
            state.newBlobs.removeAll { $0.at > number.rawValue }
            setReplaced(state.replaced - undone.reduce(0) { $0 + $1.page.recordBytes }, &state)
        }
    }

    private func setReplaced(_ bytes: Int, _ state: inout State) {
        state.replaced = bytes
        quartersBehind.store(policy.lag(replaced: bytes, live: state.live), ordering: .relaxed)
    }

    /// A page file was removed.
    func forget(_ file: PageFileNumber) {
        state.withLock { state in
            state.table.entries[file] = nil
            state.bornAfter[file] = nil
        }
    }

    /// Files that hold blobs of transactions after the last checkpoint.
    func filesOfNewBlobs() throws(EngineError) -> Set<PageFileNumber> {
        var numbers: Set<PageFileNumber> = []
        for (blob, _) in state.withLock({ $0.newBlobs }) {
            try files.forEachBlobPage(blob) { page throws(EngineError) in numbers.insert(page.file) }
        }
        return numbers
    }

    var table: FileTable { state.withLock { $0.table } }

    /// The table, and since which version each file may be needed.
    var tableAndBirths: (table: FileTable, born: [PageFileNumber: TransactionNumber]) {
        state.withLock { ($0.table, $0.bornAfter) }
    }

    /// What the length of log segments grows to.
    var segmentBytes: Int { state.withLock { policy.segmentBytes(live: $0.live) } }

    /// True if a checkpoint is due because it would free, or double, much of the store, or because of bytes that were logged since the last.
    func isCheckpointDue(logged: Int) -> Bool {
        state.withLock { policy.isCheckpointDue(replaced: $0.replaced, logged: logged, live: $0.live) }
    }

    /// How far checkpoints are behind the commits (`SpacePolicy.lag`). Takes no lock.
    var lag: Int { quartersBehind.load(ordering: .relaxed) }

    /// True if a checkpoint may take its time.
    var mayRest: Bool { state.withLock { policy.mayRest(replaced: $0.replaced, live: $0.live) } }

    /// True if the log grows faster than checkpoints let go of it.
    func isLogOverdue(logged: Int) -> Bool {
        state.withLock { policy.isLogOverdue(replaced: $0.replaced, logged: logged, live: $0.live) }
    }
}

extension PageFiles {
    /// The page files that a blob lies in.
    func filesOfBlob(_ blob: PageReference) throws(EngineError) -> Set<PageFileNumber> {
        var numbers: Set<PageFileNumber> = []
        try forEachBlobPage(blob) { page throws(EngineError) in numbers.insert(page.file) }
        return numbers
    }
}
