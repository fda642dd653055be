import Foundation
import Hornbeam
import Testing

@testable import HornbeamTool

/// The processes that `hornbeam info` lists.
@Suite struct StoreProcessesTests {
    private let folder = TemporaryFolder()

    @Test func locksAreReadFromTheKernelsText() {
        let text = """
            pos:\t0
            flags:\t02100002
            lock:\t1: OFDLCK ADVISORY  READ  -1 fe:00:1234 0 0
            lock:\t2: OFDLCK ADVISORY  WRITE -1 fe:00:1234 1 2
            lock:\t3: POSIX  ADVISORY  WRITE 17 fe:00:1234 0 EOF
            lock:\t4: OFDLCK ADVISORY  READ  -1 fe:00:1234 16 EOF
            """
        #expect(
            StoreProcesses.locks(in: text) == [
                .init(isExclusive: false, bytes: 0...0), .init(isExclusive: true, bytes: 1...2), .init(isExclusive: false, bytes: 16...Int64.max),
            ])
    }

    @Test("the log that a process has not read, and the age of its oldest snapshot, are those that its locks record")
    func progressIsListed() throws {
        let now = Int64(ProcessInfo.processInfo.systemUptime)
        // The durable log ends at byte 5 × 4,096.
        let file = try lock([0, 1 << 60 + 3, 1 << 61 + now - 7], durableEnd: 5 * 4096)
        defer { close(file) }
        let own = try #require(StoreProcesses(path: folder.path("s"), excluding: 0).list.first { $0.identifier == getpid() })
        #expect(own.access == .sharing && own.unreadBytes == 2 * 4096)
        #expect((7...9).contains(own.snapshotAge ?? -1))
    }

    @Test(
        "a damaged file `lock`, and locks that Hornbeam does not take, do not end the tool",
        arguments: [(1 << 63, 3, nil), (.max, 3, nil), (1 << 62, 1 << 52, 0), (8192, 1, 4096)] as [(UInt64, Int64, Int?)])
    func damagedLocksAreListed(durableEnd: UInt64, readBlocks: Int64, unread: Int?) throws {
        let file = try lock([0, 1 << 60 + readBlocks, Int64.max - 1], durableEnd: durableEnd)
        defer { close(file) }
        let own = try #require(StoreProcesses(path: folder.path("s"), excluding: 0).list.first { $0.identifier == getpid() })
        #expect(own.unreadBytes == unread && own.snapshotAge == 0)
    }

    /// Makes the files of a store, and locks bytes of its file `meta`. Returns the file's descriptor.
    private func lock(_ bytes: [Int64], durableEnd: UInt64) throws -> Int32 {
        try FileManager.default.createDirectory(atPath: folder.path("s"), withIntermediateDirectories: true)
        let position = withUnsafeBytes(of: durableEnd.littleEndian) { Data($0) }
        try (Data(count: 8) + position).write(to: URL(filePath: folder.path("s/lock")))
        let file = open(folder.path("s/meta"), O_RDWR | O_CREAT, 0o600)
        for byte in bytes {
            // 37 is `F_OFD_SETLK`.
            var lock = flock(l_type: Int16(F_RDLCK), l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1, l_pid: 0)
            #expect(fcntl(file, 37, &lock) == 0)
        }
        return file
    }

    @Test("a store's processes, their access and the turn", arguments: [false, true])
    func processesAreListed(isShared: Bool) throws {
        let path = folder.path("Packages.hornbeam")
        let model = try ManagedObjectModel { Entity("Package") { Attribute<String>("name") } }
        let container = try PersistentContainer(name: "Packages", model: model)
        var description = PersistentStoreDescription(url: URL(filePath: path))
        description.isShared = isShared
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        let context = container.newContext()
        try context.insert(entityNamed: "Package")["name"] = "a"
        try context.save()
        let own = StoreProcesses(path: path, excluding: 0).list.filter { $0.identifier == getpid() }
        #expect(own.map(\.access) == [isShared ? .sharing : .writing])
        #expect(own.map(\.hasTurn) == [isShared])
        #expect(StoreProcesses(path: path).list.allSatisfy { $0.identifier != getpid() })
        try container.close()
        // The context still reads its last state.
        let closed = StoreProcesses(path: path, excluding: 0).list
        #expect(closed.allSatisfy { $0.access == .reading && !$0.hasTurn })
        withExtendedLifetime(context) {}
    }
}
