// The page files of a store: append-only files of packed page records, each with a number that is never reused. No byte is written
// twice, and a file is removed as a whole. Files grow through appenders, each with files of its own, and any thread may read them. This
// layer does not know trees; higher layers know the references between records.

internal import HornbeamThreads

/// The page files of one store.
package final class PageFiles: Sendable {
    /// An open file.
    struct Entry {
        var file: any File
        /// The appender whose buffer may still hold the file's last bytes.
        weak var appender: PageAppender?
    }

    private struct State {
        var entries: [PageFileNumber: Entry] = [:]
        var nextFile: PageFileNumber
        /// Files in memory are numbered downwards, away from the files of another process that writes.
        var nextInMemory = PageFileNumber.last

        /// Files stay open, since a writer in another process may unlink them.
        let isHolding: Bool

        /// The next number of a file in memory; nil where files are made on disk.
        mutating func takeNumberInMemory() -> PageFileNumber? {
            guard isHolding else { return nil }
            defer { nextInMemory = PageFileNumber(nextInMemory.rawValue - 1) }
            return nextInMemory
        }

        /// Closes a file that has no appender; its last reader still holds the handle.
        mutating func makeRoom() {
            guard !isHolding, entries.count >= PageFiles.openFilesMax else { return }
            guard let idle = entries.first(where: { $0.value.appender == nil })?.key else { return }
            entries[idle] = nil
        }
    }

    /// Files kept open for reading; a store may have more than a process may open.
    static let openFilesMax = 256
    /// The end of the last record that a reference can name: 2³² places of 8 bytes and a record's length.
    static let fileBytesMax: UInt64 = 1 << 35 + 1 << 19

    package let directory: String
    let fileSystem: any FileSystem
    let salt: UInt64
    /// Guards the table of open files and the next number.
    private let state: Guarded<State>

    /// The page files in a folder. New files get numbers from `nextFile` on, above every existing number. `listing` holds the names in the
    /// folder, if the caller knows them.
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

    /// Opens every existing file. If the object was made with `isHolding`, the files can be read from then on, even after another process
    /// unlinks them. Throws `damaged` when a file disappears meanwhile.
    package func hold() throws(EngineError) {
        for number in try fileSystem.list(directory).compactMap(PageFileNumber.init(fileName:)) { _ = try handle(number) }
    }

    /// The number of the next new file. The meta file stores it, so that numbers are never reused.
    package var nextFile: PageFileNumber { state.withLock { $0.nextFile } }

    /// The files present, by number.
    package func files() throws(EngineError) -> [PageFileSummary] {
        var summaries: [PageFileSummary] = []
        for number in try fileSystem.list(directory).compactMap(PageFileNumber.init(fileName:)) {
            do throws(EngineError) {
                summaries.append(PageFileSummary(number: number, bytes: min(try handle(number).file.size(), PageFiles.fileBytesMax)))
            } catch {
                // A checkpoint on another thread may have removed it after the folder was listed.
                guard error.code == .damaged, try !fileSystem.exists(path(of: number)) else { throw error }
            }
        }
        return summaries.sorted { $0.number < $1.number }
    }

    /// An appender with a file of its own, created when something is first appended.
    package func makeAppender(fileSizeLimit: Int = 4 << 20, bufferBytes: Int = 1 << 20) -> PageAppender {
        PageAppender(files: self, fileSizeLimit: fileSizeLimit, bufferBytes: bufferBytes)
    }

    /// Unlinks a file without references. It becomes durable later; a file that reappears after a crash is an orphan.
    package func remove(_ file: PageFileNumber, mayThrottle: () -> Bool = { false }) throws(EngineError) {
        forget(file)
        try fileSystem.remove(path(of: file), mayThrottle: mayThrottle)
    }

    /// Makes the names of created and removed files durable.
    package func syncDirectory() throws(EngineError) {
        try fileSystem.syncDirectory(directory, .pageFileNames)
    }

    func path(of file: PageFileNumber) -> String { join(directory, file.fileName) }

    /// The open file; opened for reading at first use.
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

    /// A new file for an appender, under a new number. It lies in memory if the store is open for reading.
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
