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
