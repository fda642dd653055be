import Foundation
import HornbeamModel
import Testing
@testable import HornbeamEngine
@testable import HornbeamStore

@Suite("Leases")
struct LeaseTests {
    @Test("PSC-22: a store whose last lease is released while a thread of it works can be opened at once")
    func releasedBesideUpkeep() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        func lease() throws -> StoreLease { try Store.lease(.directory(folder.path), model: libraryModel, options: Store.Options()) }
        // The commit that creates the store starts its threads.
        try lease().end()
        func work() throws {
            let working = DispatchSemaphore(value: 0)
            let lease = try lease()
            let engine = lease.store.engine
            // In place of a checkpoint, which takes less time.
            #expect(engine.upkeepThreads.pages.start(engine) { _ in
                working.signal()
                usleep(200_000)
            })
            withExtendedLifetime((lease, engine)) { #expect(working.wait(timeout: .now() + 60) == .success) }
        }
        for _ in 0..<2 { try work() }
        #expect(!Store.isLeased(.directory(folder.path)))
        try lease().end()
    }
}
