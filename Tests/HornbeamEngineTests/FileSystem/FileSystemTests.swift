import Glibc
import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The guarantees of every file system, tested on each of them.
@Suite struct FileSystemTests {
    enum Kind: CaseIterable {
        case posix, memory, simulated, faulty
    }

    /// A file system and a folder on it.
    struct Place {
        let fileSystem: any FileSystem
        let root: String
        let folder: TemporaryFolder?

        init(_ kind: Kind) throws {
            let folder = kind == .posix ? TemporaryFolder() : nil
            self.folder = folder
            root = folder?.path ?? "root"
            fileSystem =
                switch kind {
                case .posix: PosixFileSystem()
                case .memory: MemoryFileSystem()
                case .simulated: SimulatedDisk()
                case .faulty: FaultInjector(MemoryFileSystem())
                }
            if folder == nil { try fileSystem.createDirectory(root) }
        }

        func path(_ name: String) -> String { root + "/" + name }

        /// Locks a file, which is made if there is none.
        func lock(_ name: String) throws -> any FileLock {
            if try !fileSystem.exists(path(name)) { _ = try fileSystem.open(path(name), .create) }
            return try fileSystem.lock(path(name), recordingHolderIn: path("holder"))
        }
    }

    func code(_ body: () throws -> Void) -> EngineError.Code? {
        do { try body() } catch { return (error as? EngineError)?.code }
        return nil
    }

    func write(_ bytes: [UInt8], to file: any File, at offset: UInt64) throws {
        try bytes.withBytes { (buffer) throws(EngineError) in try file.write(buffer, at: offset) }
    }

    func read(_ file: any File, _ count: Int, at offset: UInt64) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let done = try bytes.withMutableBytes { (buffer) throws(EngineError) in try file.read(into: buffer, at: offset) }
        return Array(bytes[..<done])
    }

    @Test(arguments: Kind.allCases) func bytesThatAreRemovedFromTheCacheStayInTheFile(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("pages"), .create)
        let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try write(bytes, to: file, at: 0)
        for isSynced in [false, true] {
            if isSynced { try file.sync(.pages) }
            for (offset, count) in [(0, 20_000), (100, 5000), (4095, 2), (8192, 4096), (19_999, 1), (30_000, 10)] {
                file.removeFromCache(at: UInt64(offset), count: count)
                #expect(try read(file, bytes.count, at: 0) == bytes)
            }
        }
    }

    /// The system's read-ahead is turned off and on meanwhile.
    @Test(arguments: Kind.allCases) func readsInAnyOrderAndReadAheadReturnTheBytes(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("pages"), .create)
        let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try write(bytes, to: file, at: 0)
        try file.sync(.pages)
        var random = SplitMix(seed: 7)
        for round in 0..<200 {
            let start = round / 20 % 2 == 0 ? Int.random(in: 0..<bytes.count, using: &random) : round * 5000
            if round % 3 == 0 { file.readAhead(at: UInt64(start), count: 40_000) }
            if round % 7 == 0 { file.removeFromCache(at: UInt64(start), count: 5000) }
            #expect(try read(file, 5000, at: UInt64(start)) == Array(bytes[start..<min(start + 5000, bytes.count)]))
        }
    }

    @Test func writesDoNotFollowSymbolicLinks() throws {
        let place = try Place(.posix)
        try write([1, 2, 3], to: try place.fileSystem.open(place.path("target"), .create), at: 0)
        _ = try place.fileSystem.open(place.path("meta"), .create)
        try #require(symlink(place.path("target"), place.path("link")) == 0)
        #expect(code { _ = try place.fileSystem.open(place.path("link"), .readWrite) } == .inputOutput)
        #expect(code { _ = try place.fileSystem.open(place.path("link"), .create) } == .inputOutput)
        #expect(code { _ = try place.fileSystem.lock(place.path("link"), recordingHolderIn: place.path("holder")) } == .inputOutput)
        // The number of the process is a hint, so that an error of writing it is ignored.
        let lock = try place.fileSystem.lock(place.path("meta"), recordingHolderIn: place.path("link"))
        withExtendedLifetime(lock) {}
        for name in ["target", "link"] { #expect(try read(place.fileSystem.open(place.path(name), .read), 100, at: 0) == [1, 2, 3]) }
    }

    @Test(arguments: Kind.allCases)
    func randomWritesReadBackAsFromAnArray(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("f"), .create)
        var model: [UInt8] = []
        var random = SplitMix(seed: 42)
        for _ in 0..<300 {
            let offset = Int.random(in: 0...150_000, using: &random)
            let count = Int.random(in: 0...5000, using: &random)
            let byte = UInt8.random(in: 0...2, using: &random)
            if Bool.random(using: &random) {
                try write([UInt8](repeating: byte, count: count), to: file, at: UInt64(offset))
                let missing = offset + count - model.count
                if missing > 0 && count > 0 { model += [UInt8](repeating: 0, count: missing) }
                if count > 0 { model.replaceSubrange(offset..<offset + count, with: [UInt8](repeating: byte, count: count)) }
            } else {
                let end = min(offset + count, model.count)
                #expect(try read(file, count, at: UInt64(offset)) == (offset < end ? Array(model[offset..<end]) : []))
            }
            #expect(try Int(file.size()) == model.count)
        }
        try file.sync(.pages)
        try file.close()
        let again = try place.fileSystem.open(place.path("f"), .read)
        #expect(try read(again, model.count + 10, at: 0) == model)
    }

    @Test(arguments: Kind.allCases)
    func namesAreCreatedListedRenamedAndRemoved(kind: Kind) throws {
        let place = try Place(kind)
        let disk = place.fileSystem
        #expect(try disk.list(place.root) == [])
        for name in ["b", "a", "c"] { try write([1], to: disk.open(place.path(name), .create), at: 0) }
        #expect(try disk.list(place.root) == ["a", "b", "c"])
        try disk.rename(place.path("a"), to: place.path("z"))
        try disk.rename(place.path("b"), to: place.path("c"))
        #expect(try disk.list(place.root) == ["c", "z"])
        #expect(try disk.exists(place.path("z")) && !disk.exists(place.path("a")))
        try disk.createDirectory(place.path("d"))
        _ = try disk.open(place.path("d/inner"), .create)
        #expect(throws: EngineError.self) { try disk.remove(place.path("d")) }
        try disk.rename(place.path("d"), to: place.path("e"))
        #expect(try disk.list(place.path("e")) == ["inner"])
        try disk.syncDirectory(place.path("e"), .newStore)
        try disk.remove(place.path("e/inner"))
        try disk.remove(place.path("e"))
        try disk.remove(place.path("z"))
        try disk.syncDirectory(place.root, .newStore)
        #expect(try disk.list(place.root) == ["c"])
    }

    @Test(arguments: Kind.allCases)
    func aRemovedFileStaysReadable(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("f"), .create)
        try write([1, 2, 3], to: file, at: 0)
        try place.fileSystem.remove(place.path("f"))
        #expect(try read(file, 3, at: 0) == [1, 2, 3])
        #expect(try !place.fileSystem.exists(place.path("f")))
    }

    @Test(arguments: Kind.allCases)
    func aRemovedFileStaysReadableWhileItIsOpen(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("f"), .create)
        try write([UInt8](repeating: 9, count: 2_000_000), to: file, at: 0)
        let reader = try place.fileSystem.open(place.path("f"), .read)
        try file.close()
        try place.fileSystem.remove(place.path("f")) { true }
        #expect(try !place.fileSystem.exists(place.path("f")))
        #expect(try read(reader, 2_000_001, at: 0) == [UInt8](repeating: 9, count: 2_000_000))
        #expect(throws: EngineError.self) { try place.fileSystem.remove(place.path("f")) { true } }
    }

    @Test("a hard link to a removed file, as a copy of the store may have one, keeps its content")
    func otherNamesKeepTheirContent() throws {
        let place = try Place(.posix)
        let file = try place.fileSystem.open(place.path("f"), .create)
        try write([UInt8](repeating: 9, count: 4_000_000), to: file, at: 0)
        try file.close()
        #expect(link(place.path("f"), place.path("copy")) == 0)
        try place.fileSystem.remove(place.path("f")) { true }
        #expect(try place.fileSystem.list(place.root) == ["copy"])
        let copy = try place.fileSystem.open(place.path("copy"), .read)
        #expect(try read(copy, 4_000_001, at: 0) == [UInt8](repeating: 9, count: 4_000_000))
    }

    /// Where the file system grants leases, the number of calls shows how the file was removed.
    @Test("a file that no process has open is truncated in pieces, until the time limit ends", arguments: [(1000, 1), (4_000_000, 4), (4_000_000, 2)])
    func filesGoInPieces(bytes: Int, asked: Int) throws {
        let place = try Place(.posix)
        let descriptor = Glibc.open(place.path("leased"), O_RDWR | O_CREAT, 0o600)
        let hasLeases = fcntl(descriptor, 1024, F_WRLCK) == 0
        close(descriptor)
        let file = try place.fileSystem.open(place.path("f"), .create)
        try write([UInt8](repeating: 9, count: bytes), to: file, at: 0)
        try file.close()
        var calls = 0
        try place.fileSystem.remove(place.path("f")) {
            calls += 1
            return (bytes >> 20) + 1 == asked || calls < asked
        }
        #expect(calls == (hasLeases ? asked : 1))
        #expect(try place.fileSystem.list(place.root) == ["leased"])
    }

    @Test(arguments: Kind.allCases)
    func missingAndExistingFilesAreErrors(kind: Kind) throws {
        let place = try Place(kind)
        let disk = place.fileSystem
        _ = try disk.open(place.path("f"), .create)
        #expect(code { _ = try disk.open(place.path("no"), .read) } == .notAStore)
        #expect(code { _ = try disk.open(place.path("no"), .readWrite) } == .notAStore)
        #expect(code { _ = try disk.open(place.path("f"), .create) } == .inputOutput)
        #expect(code { _ = try disk.open(place.path("no/f"), .create) } == .notAStore)
        #expect(code { _ = try disk.list(place.path("no")) } == .notAStore)
        #expect(code { try disk.remove(place.path("no")) } == .notAStore)
        #expect(code { try disk.rename(place.path("no"), to: place.path("x")) } == .notAStore)
        #expect(code { try disk.syncDirectory(place.path("no"), .newStore) } == .notAStore)
        #expect(code { try disk.createDirectory(place.path("f")) } == .inputOutput)
    }

    @Test(arguments: Kind.allCases)
    func aLockIsHeldOnce(kind: Kind) throws {
        let place = try Place(kind)
        let lock = try place.lock("lock")
        #expect(message { try place.lock("lock") } == """
            storeInUse: The store is open for writing in this process already. Use the open store, or close it. \
            [\(place.path("lock"))]
            """)
        lock.release()
        lock.release()
        var second: (any FileLock)? = try place.lock("lock")
        #expect(throws: EngineError.self) { _ = try place.lock("lock") }
        withExtendedLifetime(second) {}
        second = nil
        _ = try place.lock("lock")
    }

    @Test func anotherHolderOfTheLockIsNamedAsSuch() throws {
        let place = try Place(.posix)
        // Another open file description acts as another process, because the lock belongs to the description.
        let descriptor = open(place.path("lock"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        var request = flock()
        request.l_type = Int16(F_WRLCK)
        request.l_len = 1
        try #require(fcntl(descriptor, 37, &request) == 0)
        #expect(message { try place.lock("lock") } == """
            storeInUse: Another process has the store open for writing. Close it there, or open the store read-only. \
            [\(place.path("lock"))]
            """)
        // The failed attempt leaves no trace.
        request.l_type = Int16(F_UNLCK)
        try #require(fcntl(descriptor, 37, &request) == 0)
        try place.lock("lock").release()
    }

    @Test(arguments: Kind.allCases)
    func aLockTellsWhenItsFileIsNoLongerThere(kind: Kind) throws {
        let place = try Place(kind)
        let lock = try place.lock("lock")
        try lock.verify()
        try place.fileSystem.remove(place.path("lock"))
        #expect(code { try lock.verify() } == .durabilityLost)
        let second = try place.lock("lock")
        #expect(code { try lock.verify() } == .durabilityLost)
        try second.verify()
        #expect(code { _ = try place.fileSystem.lock(place.path("none"), recordingHolderIn: place.path("holder")) } == .notAStore)
    }

    @Test func theLockIsOfTheFileNotOfThePath() throws {
        let place = try Place(.posix)
        try place.fileSystem.createDirectory(place.path("store"))
        try #require(symlink(place.path("store"), place.path("alias")) == 0)
        let lock = try place.lock("store/lock")
        #expect(throws: EngineError.self) { _ = try place.lock("alias/lock") }
        lock.release()
    }

    @Test func systemErrorsSayWhatHappenedAndWhatToDo() throws {
        #expect(EngineError.system(ENOSPC, doing: "writing at offset 4096", path: "p").description == """
            full: The disk is full (No space left on device) while writing at offset 4096. Free some space and try again. [p]
            """)
        #expect(EngineError.system(EDQUOT, doing: "syncing the file", path: "p").code == .full)
        #expect(EngineError.system(EROFS, doing: "creating the file", path: "p").description == """
            readOnly: The medium is read-only; writing is not possible while creating the file. Open the store read-only. [p]
            """)
        #expect(EngineError.system(EACCES, doing: "creating the file", path: "p").description == """
            readOnly: Permission was denied while creating the file. Check owner and mode of the file and its folder. [p]
            """)
        let error = EngineError.system(EIO, doing: "syncing the file", path: "p")
        #expect(error.description == """
            inputOutput: The operating system refused (Input/output error) while syncing the file. [p]
            """)
        #expect(error.errno == EIO)
        let place = try Place(.posix)
        #expect(message { try place.fileSystem.open(place.path("no"), .read) } == """
            notAStore: There is no such file or folder while opening the file. [\(place.path("no"))]
            """)
    }

    @Test func limitsOfTheSystemSayWhichOneWasMet() {
        #expect(EngineError.system(EFBIG, doing: "writing", path: "p").description == """
            full: The file would exceed the size limit of the file system or of the process while writing. [p]
            """)
        #expect(EngineError.system(EMFILE, doing: "opening the file", path: "p").description == """
            full: Too many files are open (Too many open files) while opening the file. Raise the limit of open files. [p]
            """)
        #expect(EngineError.system(ENOTDIR, doing: "opening the file", path: "p").description == """
            notAStore: Part of the path is not a folder while opening the file. [p]
            """)
        #expect(EngineError.system(99_999, doing: "closing", path: "p").message.contains("99999"))
    }

    @Test func pathsArePutTogetherAndTakenApart() {
        #expect(join("folder", "name") == "folder/name")
        #expect(join("folder/", "name") == "folder/name")
        #expect(parent(ofPath: "folder/name") == "folder")
        #expect(parent(ofPath: "/name") == "/")
        #expect(parent(ofPath: "name") == ".")
    }

    @Test func foldersInMemoryAreNoFiles() throws {
        let system = MemoryFileSystem()
        try system.createDirectory("folder")
        _ = try system.open("file", .create)
        #expect(message { try system.open("folder", .read) } == "inputOutput: A folder cannot be opened as a file. [folder]")
        #expect(throws: EngineError.self) { try system.rename("file", to: "folder") }
        #expect(try system.exists("file"))
    }

    /// Lines as the kernel prints them, with a device of large numbers and lines that are cut short.
    @Test(arguments: [
        (0x0803, "ext4"), (0x0B, "nfs4"), (0x2D, "fuse.sshfs"), (0x0010_0112, nil as String?), (0x1234, nil),
    ])
    func mountsNameTheTypeOfADevice(_ device: Int, _ type: String?) {
        let mounts = """
            22 1 8:3 / / rw,relatime shared:1 - ext4 /dev/sda3 rw
            40 22 0:11 / /home rw - nfs4 server:/home rw,vers=4.2
            41 22 0:45 / /far rw,nosuid shared:9 master:2 - fuse.sshfs far: rw
            42 22 1:274 / /cut rw
            43 22 1:274 / /cut rw -
            """
        #expect(PosixFileSystem.type(ofDevice: UInt64(device), inMounts: mounts) == type)
    }

    @Test func onlyTypesThatOtherMachinesServeAreOfTheNetwork() throws {
        for type in ["nfs", "nfs4", "cifs", "fuse.sshfs"] { #expect(PosixFileSystem.isServedByNetwork(type)) }
        for type in ["ext4", "proc", "tmpfs", "fuse.ntfs"] { #expect(!PosixFileSystem.isServedByNetwork(type)) }
        let place = try Place(.posix)
        #expect(PosixFileSystem().networkFileSystem(of: place.path("new")) == nil)
        // The number of the file system's type is unknown, so the list of mounts is read.
        #expect(PosixFileSystem().networkFileSystem(of: "/proc/self") == nil)
        #expect(PosixFileSystem().networkFileSystem(of: "/no/such/folder") == nil)
    }

    @Test func aFullDiskIsAnErrorOfItsOwn() throws {
        let file = try PosixFileSystem().open("/dev/full", .readWrite)
        #expect(message { try write([1, 2, 3], to: file, at: 0) } == """
            full: The disk is full (No space left on device) while writing at offset 0. Free some space and try again. [/dev/full]
            """)
    }

    @Test(arguments: Kind.allCases)
    func writtenBackBytesStayAndStillNeedASync(kind: Kind) throws {
        let place = try Place(kind)
        let file = try place.fileSystem.open(place.path("f"), .create)
        try file.writeBack()
        for number in UInt8(1)...3 {
            try write([number, number], to: file, at: UInt64(number) * 5000)
            try file.writeBack()
        }
        #expect(try read(file, 2, at: 10_000) == [2, 2])
        #expect(try file.size() == 15_002)
        try file.sync(.pages)
        #expect(try read(file, 9, at: 15_000) == [3, 3])
    }

    /// A device cannot be written back like a file. It cannot be synced either; this error is reported.
    @Test func aFileThatCannotBeWrittenBackIsSynced() throws {
        let file = try PosixFileSystem().open("/dev/null", .readWrite)
        #expect(message { try file.writeBack() } == """
            inputOutput: The operating system refused (Invalid argument) while syncing the file. [/dev/null]
            """)
    }

    /// A forked child shares the parent's descriptors, so its writes would change the parent's store.
    @Test func aForkedChildIsRefused() throws {
        typealias Fork = @convention(c) () -> pid_t
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
        let place = try Place(.posix)
        let file = try place.fileSystem.open(place.path("f"), .create)
        let child = fork()
        if child == 0 {
            for work in [{ try write([1], to: file, at: 0) }, { try file.writeBack() }, { try file.sync(.pages) }] {
                do { try work() } catch { if (error as? EngineError)?.code == .closed { continue } }
                _exit(1)
            }
            _exit(0)
        }
        var status: Int32 = -1
        #expect(waitpid(child, &status, 0) == child && status == 0)
        #expect(try file.size() == 0)
        try write([1], to: file, at: 0)
    }

    @Test func aFileOpenForReadingRefusesWrites() throws {
        let place = try Place(.posix)
        _ = try place.fileSystem.open(place.path("f"), .create)
        let file = try place.fileSystem.open(place.path("f"), .read)
        #expect(throws: EngineError.self) { try write([1], to: file, at: 0) }
    }

    @Test func aNamedMemoryFileSystemIsSharedWhileHeld() throws {
        var first: MemoryFileSystem? = MemoryFileSystem.named("shared")
        try first?.createDirectory("d")
        #expect(try MemoryFileSystem.named("shared").exists("d"))
        #expect(try !MemoryFileSystem.named("other").exists("d"))
        first = nil
        #expect(try !MemoryFileSystem.named("shared").exists("d"))
    }

    @Test(arguments: ["", "wal-", "wal-1", "wal-00000000000000001", "wal-000000000000000x", "pages-0000000000000001", "wal-0000000000000001 "])
    func otherNamesAreNoSegments(name: String) {
        #expect(LogSegmentNumber(fileName: name) == nil)
        #expect(LogSegmentNumber(fileName: "wal-0000000000000041") == LogSegmentNumber(41))
        #expect(PageFileNumber(fileName: "pages-0000000000000000") == nil)
        #expect(PageFileNumber(fileName: "pages-0000002147483648") == nil)
        #expect(PageFileNumber(fileName: PageFileNumber(7).fileName) == PageFileNumber(7))
    }
}
