import Foundation
import Testing

@testable import Hornbeam

/// Users and releases that may open a store beside others.
@Suite("Access to stores that several processes write") struct SharedStoreAccessTests {
    /// The process of another user: follows the store until it has 20 objects. Exits with 7.
    private static func read(_ path: String) async throws {
        // The superuser may write everywhere.
        if getuid() == 0 { setuid(65534) }
        var description = PersistentStoreDescription(url: URL(filePath: path))
        let refused = hornbeamError {
            description.isShared = true
            _ = try SharedPair.open([description], Company.model(), Company.classes)
        }
        guard refused?.code == .readOnly else { exit(1) }
        (description.isShared, description.isReadOnly) = (false, true)
        let container = try SharedPair.open([description], Company.model(), Company.classes)
        while try container.newContext().count(FetchRequest<Employee>()) < 20 {
            usleep(1000)
            _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
        }
        exit(7)
    }

    @Test("PSC-3: a user without write permission reads beside the processes that write, and cannot write")
    func readerWithoutPermission() async throws {
        let pair = try SharedPair.company()
        for name in try FileManager.default.contentsOfDirectory(atPath: pair.url.path) { chmod(pair.url.appending(path: name).path, 0o644) }
        chmod(pair.url.path, 0o755)
        // Some of the saves are made while the other user reads.
        async let saves: Void = {
            for number in 0..<20 {
                try (number % 2 == 0 ? pair.here : pair.there).performAndWait { context in
                    context.employee("\(number)")
                    try context.save()
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }()
        await #expect(processExitsWith: .exitCode(7)) { [path = pair.url.path as String] in try await SharedStoreAccessTests.read(path) }
        try await saves
        try pair.close()
    }

    @Test("PSC-3: a process that takes turns in an unknown way refuses the store, which stays as it is")
    func unknownProtocol() throws {
        let pair = try SharedPair.company()
        try pair.here.performAndWait { context in
            context.employee("a")
            try context.save()
        }
        try pair.close()
        // A process with version 9 of the protocol. 37 is `F_OFD_SETLK`.
        let file = open(pair.url.appending(path: "meta").path, O_RDWR)
        defer { close(file) }
        for byte in [0, 16 + 9] as [off_t] {
            var lock = flock(l_type: Int16(F_RDLCK), l_whence: Int16(SEEK_SET), l_start: byte, l_len: 1, l_pid: 0)
            #expect(fcntl(file, 37, &lock) == 0)
        }
        var description = PersistentStoreDescription(url: pair.url)
        description.isShared = true
        let before = try Self.content(pair.url)
        let error = hornbeamError { _ = try SharedPair.open([description], Company.model(), Company.classes) }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("another version of this library, which takes turns differently") == true)
        #expect(try Self.content(pair.url) == before)
    }

    private static func content(_ url: URL) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path) where name != "lock" {
            files[name] = try Data(contentsOf: url.appending(path: name))
        }
        return files
    }
}
