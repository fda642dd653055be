import Foundation
import Hornbeam
import HornbeamThreads
import Testing

/// Closing a container from several threads.
@Suite struct ClosingTests {
    /// A store without rows, whose closing takes several steps, and which calls a closure at its end.
    private final class SlowlyClosingStore: CustomStore {
        let identifier = UUID()
        private let steps = Guarded(0)
        private let atEnd: @Sendable () throws -> Void

        init(atEnd: @escaping @Sendable () throws -> Void = {}) { self.atEnd = atEnd }

        var isAtomic: Bool { true }
        var isClosed: Bool { steps.withLock { $0 == 8 } }

        func open(_ model: ManagedObjectModel) throws {}
        func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] { [] }
        func newKeys(for entityNames: [String]) throws -> [UInt64] { [] }
        func save(_ changes: CustomStoreChanges) throws {}

        func close() throws {
            for _ in 0..<8 { steps.withLock { $0 += 1 } }
            try atEnd()
        }
    }

    private static func container(_ store: SlowlyClosingStore) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: ManagedObjectModel(for: Shelves.classes), classes: Shelves.classes)
        container.persistentStoreDescriptions = [.custom(store)]
        try container.loadPersistentStores()
        return container
    }

    @Test("PSC-3: each close of a container returns when its stores are closed, whichever thread closes them", arguments: 0..<30 as Range<UInt64>)
    func secondCloseWaits(seed: UInt64) throws {
        var random = SplitMix(seed)
        let preemptions = (0..<4).map { _ in
            Schedule.Preemption(point: Int.random(in: 0..<120, using: &random), target: Int.random(in: 0..<3, using: &random))
        }
        let schedule = Schedule(preemptions: preemptions, seed: UInt64.random(in: 0..<1 << 20, using: &random))
        let interleaving = Interleaving(schedule)
        let store = SlowlyClosingStore()
        let container = try Self.container(store)
        let early = Guarded<[Int]>([])
        let parts = (0..<3).map { thread in
            Interleaving.Part("\(thread)") {
                try container.close()
                if !store.isClosed { early.withLock { $0.append(thread) } }
            }
        }
        let result = interleaving.run(parts)
        #expect(result.stopReason == nil && result.failures.isEmpty, "seed \(seed)")
        #expect(early.withLock(\.self) == [], "seed \(seed)")
    }

    @Test("PSC-3: a store that closes its container while it is closed does not wait for itself; its error is thrown once")
    func closeInsideClose() throws {
        let box = Guarded<PersistentContainer?>(nil)
        let store = SlowlyClosingStore {
            try box.withLock(\.self)?.close()
            throw HornbeamError(.storeOperationFailed, "The server did not answer.")
        }
        let container = try Self.container(store)
        box.withLock { $0 = container }
        #expect(hornbeamError { try container.close() }?.code == .storeOperationFailed)
        try container.close()
        #expect(store.isClosed)
    }
}
