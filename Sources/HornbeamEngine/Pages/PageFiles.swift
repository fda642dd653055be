// The page files of a store: append-only files of page records, each with a number. A number that a checkpoint has counted is never used for
// another file. No byte is written twice, and a file is removed as a whole. Appenders write the files, each appender its own; any thread may read
// them. This folder does not know trees: higher folders interpret the references between records.

internal import HornbeamThreads
internal import Synchronization

/// The page files of one store.
package final class PageFiles: Sendable {
    /// An open file.
    struct Entry {
        var file: any File
        /// The appender whose buffer may still contain the file's last bytes.
        weak var appender: PageAppender?
    }

    private struct State {
        var entries: [PageFileNumber: Entry] = [:]
        var nextFile: PageFileNumber
        /// A reader numbers its files in memory downwards, so that the numbers differ from those of the writing process.
        var nextInMemory = PageFileNumber.last

        /// True if another process may unlink files: files stay open.
        let keepsFilesOpen: Bool
        /// True in a reader: new files are in memory.
        let createsInMemory: Bool

        /// The next number of a file in memory; nil in a writer, whose new files are on disk.
        mutating func takeNumberInMemory() -> PageFileNumber? {
            guard createsInMemory else { return nil }
            defer { nextInMemory = PageFileNumber(nextInMemory.rawValue - 1) }
            return nextInMemory
        }

        /// Removes one file without an appender from the table if the table is full. The file is closed when its last reader releases it.
        mutating func makeRoom() {
            guard !keepsFilesOpen, entries.count >= PageFiles.openFilesMax else { return }
            guard let idle = entries.first(where: { $0.value.appender == nil })?.key else { return }
            entries[idle] = nil
        }
    }

    /// The largest number of files that stay open for reading. A store may have more files than a process may open.
    static let openFilesMax = 256
    /// The largest possible end of a record: 2³² offsets in units of 8 bytes, and the largest length of a record.
    static let fileBytesMax: UInt64 = 1 << 35 + 1 << 19

    package let directory: String
    let fileSystem: any FileSystem
    let salt: UInt64
    let cachePriority = PageCachePriority()
    /// The number of running transactions and of groups that are being written. Meanwhile, reads request no further blocks.
    let writersAtWork = Atomic(0)
    /// Guards the table of open files and the next number.
    private let state: Guarded<State>

    /// The page files in a folder. A new file gets a number of at least `nextFile`, above every existing number. `listing` contains the names
    /// in the folder, if the caller knows them.
    package init(
        directory: String, fileSystem: any FileSystem, salt: UInt64, nextFile: PageFileNumber = .first,
        keepsFilesOpen: Bool = false, createsInMemory: Bool = false, listing: [String]? = nil
    ) throws(EngineError) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.salt = salt
        let names = try fileSystem.list(directory, known: listing)
        let highest = names.compactMap(PageFileNumber.init(fileName:)).max()
        state = Guarded(
            State(
                nextFile: highest.map { max($0.next, nextFile) } ?? nextFile, keepsFilesOpen: keepsFilesOpen,
                createsInMemory: createsInMemory))
    }

    /// Opens every existing file. With `keepsFilesOpen`, the files stay open and readable after another process unlinks them. Throws `damaged`
    /// when a file disappears during the call.
    ///
    /// New files get numbers above those of all existing files, which another process may have made.
    ///
    /// `listing` contains the names in the folder, if the caller knows them and the folder does not change. The files from the number `first` on are
    /// opened again: after the death of a process, the next one does not know the numbers of files that the former one made and removed after
    /// the checkpoint, and may use them again.
    package func openAllFiles(_ listing: [String]? = nil, againFrom first: PageFileNumber = .last) throws(EngineError) {
        let numbers = try fileSystem.list(directory, known: listing).compactMap(PageFileNumber.init(fileName:))
        for number in numbers { if number < first { _ = try handle(number) } else { try openAgain(number) } }
        guard let highest = numbers.max() else { return }
        state.withLock { $0.nextFile = max($0.nextFile, highest.next) }
    }

    /// Skips numbers that another process has used.
    func setNextFile(atLeast number: PageFileNumber) { state.withLock { $0.nextFile = max($0.nextFile, number) } }

    /// The number of the next new file. Each checkpoint stores it in `meta`, so that numbers below it are never reused.
    package var nextFile: PageFileNumber { state.withLock { $0.nextFile } }

    /// The existing files in the order of their numbers.
    package func files() throws(EngineError) -> [PageFileSummary] {
        var summaries: [PageFileSummary] = []
        for number in try fileSystem.list(directory).compactMap(PageFileNumber.init(fileName:)) {
            do throws(EngineError) {
                summaries.append(PageFileSummary(number: number, bytes: min(try handle(number).file.size(), PageFiles.fileBytesMax)))
            } catch {
                // A checkpoint on another thread may have removed the file after the folder was listed.
                guard error.code == .damaged, try !fileSystem.exists(path(of: number)) else { throw error }
            }
        }
        return summaries.sorted { $0.number < $1.number }
    }

    /// Makes an appender. Its first append creates its first file.
    package func makeAppender(fileSizeLimit: Int = 4 << 20, bufferBytes: Int = 1 << 20) -> PageAppender {
        PageAppender(files: self, fileSizeLimit: fileSizeLimit, bufferBytes: bufferBytes)
    }

    /// Unlinks a file without references. A later sync makes the removal durable; a file that reappears after a crash is an orphan.
    package func remove(_ file: PageFileNumber, mayThrottle: () -> Bool = { false }) throws(EngineError) {
        forget(file)
        try fileSystem.remove(path(of: file), mayThrottle: mayThrottle)
    }

    /// Makes the names of created and removed files durable.
    package func syncDirectory() throws(EngineError) {
        try fileSystem.syncDirectory(directory, .pageFileNames)
    }

    func path(of file: PageFileNumber) -> String { join(directory, file.fileName) }

    /// The open file. The first use opens it for reading.
    func handle(_ number: PageFileNumber) throws(EngineError) -> Entry {
        if let entry = state.withLock({ $0.entries[number] }) { return entry }
        let opened = Entry(file: try openForReading(number), appender: nil)
        return state.withLock { state in
            if let entry = state.entries[number] { return entry }
            state.makeRoom()
            state.entries[number] = opened
            return opened
        }
    }

    private func openAgain(_ number: PageFileNumber) throws(EngineError) {
        let opened = Entry(file: try openForReading(number), appender: nil)
        state.withLock { state in
            // After a failed hand-over, an appender may continue its file.
            if state.entries[number]?.appender == nil { state.entries[number] = opened }
        }
    }

    private func openForReading(_ number: PageFileNumber) throws(EngineError) -> any File {
        do throws(EngineError) {
            return try fileSystem.open(path(of: number), .read)
        } catch {
            guard error.code == .notAStore else { throw error }
            throw EngineError(
                .damaged, "The page file \(number) is missing. Restore the store's folder as a whole from a backup.",
                path: path(of: number), errno: error.errno)
        }
    }

    var openFileCount: Int { state.withLock { $0.entries.count } }

    /// Creates a file with a new number for an appender: in memory if the store is open read-only, otherwise on disk.
    func create(for appender: PageAppender) throws(EngineError) -> (PageFileNumber, any File) {
        if let number = state.withLock({ $0.takeNumberInMemory() }) {
            let file = MemoryFile(path: path(of: number), content: MemoryFile.Content())
            state.withLock { $0.entries[number] = Entry(file: file, appender: appender) }
            return (number, file)
        }
        let number = try state.withLock { (state) throws(EngineError) in
            guard state.nextFile < .last else {
                throw EngineError(.full, "All numbers of page files are used up. Copy the store's content to a new one.", path: directory)
            }
            defer { state.nextFile = state.nextFile.next }
            return state.nextFile
        }
        let file: any File
        do throws(EngineError) { file = try fileSystem.open(path(of: number), .create) } catch {
            // The folder itself is missing.
            throw error.code == .notAStore ? .storeGone(join(directory, "meta")) : error
        }
        state.withLock { state in
            state.makeRoom()
            // A thread that lists the folder may have opened the new file for reading.
            assert(state.entries[number]?.appender == nil, "The number of a page file is used once.")
            state.entries[number] = Entry(file: file, appender: appender)
        }
        return (number, file)
    }

    /// Ends the appender's writes to the file.
    func seal(_ number: PageFileNumber) {
        state.withLock { $0.entries[number]?.appender = nil }
    }

    func forget(_ number: PageFileNumber) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }
}
