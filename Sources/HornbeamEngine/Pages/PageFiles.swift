// The page files of a store: append-only files of packed page records, each named by a number that is never used
// again. No byte is written twice; a file goes away whole. Files grow through appenders, each with files of its own,
// and are read from any thread. Nothing here knows trees: who references what is the business of the layers above.

internal import HornbeamThreads

/// The page files of one store.
package final class PageFiles: Sendable {
    /// What is known of one file.
    struct Entry {
        var file: any File
        /// The appender that may still hold the file's last bytes in its buffer.
        weak var appender: PageAppender?
    }

    private struct State {
        var entries: [PageFileNumber: Entry] = [:]
        var nextFile: PageFileNumber
        /// Files in memory are numbered downwards, away from those of a writer elsewhere.
        var nextInMemory = PageFileNumber.last

        /// Files stay open: a writer elsewhere may unlink them.
        let isHolding: Bool

        /// The next file in memory; nil where files are made on the disk.
        mutating func takeNumberInMemory() -> PageFileNumber? {
            guard isHolding else { return nil }
            defer { nextInMemory = PageFileNumber(nextInMemory.rawValue - 1) }
            return nextInMemory
        }

        /// Lets go of a file that nobody appends to; it closes when its last reader is done.
        mutating func makeRoom() {
            guard !isHolding, entries.count >= PageFiles.openFilesMax else { return }
            guard let idle = entries.first(where: { $0.value.appender == nil })?.key else { return }
            entries[idle] = nil
        }
    }

    /// Files kept open for reading; a store may have more than a process may open.
    static let openFilesMax = 256
    /// Where the last record that a reference can name ends: 2³² places of 8 bytes and a record's length.
    static let fileBytesMax: UInt64 = 1 << 35 + 1 << 19

    package let directory: String
    let fileSystem: any FileSystem
    let salt: UInt64
    /// Guards the table of open files and the next number.
    private let state: Guarded<State>

    /// The page files in a folder. New files get numbers from `nextFile` on, above every number present. `listing` is what is
    /// in the folder, if the caller knows.
    package init(
        directory: String, fileSystem: any FileSystem, salt: UInt64, nextFile: PageFileNumber = .first,
        isHolding: Bool = false, listing: [String]? = nil
    ) throws(EngineError) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.salt = salt
        let names = try fileSystem.list(directory, known: listing)
        let highest = names.compactMap(PageFileNumber.init(fileName:)).max()
        state = Guarded(State(nextFile: highest.map { max($0.next, nextFile) } ?? nextFile, isHolding: isHolding))
    }

    /// Opens every file that is there now. Whoever made the files with `isHolding` can read them from then on, even
    /// when a writer unlinks them. Throws `damaged` when one goes away meanwhile.
    package func hold() throws(EngineError) {
        for number in try fileSystem.list(directory).compactMap(PageFileNumber.init(fileName:)) { _ = try handle(number) }
    }

    /// The number that the next new file gets; kept in the meta file, so that numbers never come back.
    package var nextFile: PageFileNumber { state.withLock { $0.nextFile } }

    /// The files present, by number.
    package func files() throws(EngineError) -> [PageFileSummary] {
        var summaries: [PageFileSummary] = []
        for number in try fileSystem.list(directory).compactMap(PageFileNumber.init(fileName:)) {
            do throws(EngineError) {
                summaries.append(PageFileSummary(number: number, bytes: min(try handle(number).file.size(), PageFiles.fileBytesMax)))
            } catch {
                // A checkpoint on another thread may have removed it since the folder was listed.
                guard error.code == .damaged, try !fileSystem.exists(path(of: number)) else { throw error }
            }
        }
        return summaries.sorted { $0.number < $1.number }
    }

    /// An appender with a file of its own, created when something is first appended.
    package func makeAppender(fileSizeLimit: Int = 4 << 20, bufferBytes: Int = 1 << 20) -> PageAppender {
        PageAppender(files: self, fileSizeLimit: fileSizeLimit, bufferBytes: bufferBytes)
    }

    /// Unlinks a file that nothing references any more; durable some time later: what a crash brings back is an orphan.
    package func remove(_ file: PageFileNumber, mayRest: () -> Bool = { false }) throws(EngineError) {
        forget(file)
        try fileSystem.remove(path(of: file), mayRest: mayRest)
    }

    /// Makes created and removed files durable as entries of the folder.
    package func syncDirectory() throws(EngineError) {
        try fileSystem.syncDirectory(directory, .pageFileNames)
    }

    func path(of file: PageFileNumber) -> String { join(directory, file.fileName) }

    /// The open file, opened for reading at first use.
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

    /// A new file for an appender, under a number never used before; in memory where a store is only read.
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
            // Only the folder can be missing.
            throw error.code == .notAStore ? .storeGone(join(directory, "meta")) : error
        }
        state.withLock { state in
            state.makeRoom()
            state.entries[number] = Entry(file: file, appender: appender)
        }
        return (number, file)
    }

    /// The appender will write nothing more to the file.
    func seal(_ number: PageFileNumber) {
        state.withLock { $0.entries[number]?.appender = nil }
    }

    func forget(_ number: PageFileNumber) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }
}
