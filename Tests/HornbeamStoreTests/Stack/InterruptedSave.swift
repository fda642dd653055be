@testable import HornbeamEngine
@testable import HornbeamSimulation
import HornbeamModel
import Testing
@testable import HornbeamStore

extension TwoStores {
    /// A disk after a crash in the second save: one store has a prepared part that is not applied. The other store has the commit record, or not.
    static func interrupted(isCommitted: Bool) throws -> SimulatedDisk {
        var found: SimulatedDisk?
        let enumerator = CrashEnumerator(seed: 5)
        _ = try enumerator.run(
            workload: { disk in
                let stores = try TwoStores(on: disk)
                try stores.save(1)
                disk.mark(.submitted(2))
                try stores.save(2)
            },
            verify: { image in
                guard found == nil, image.submitted == 2, image.depth == 0 else { return }
                let copy = SimulatedDisk(image.disk.journal.base)
                guard let stores = try? names.map({ try open($0, copy) }) else { return }
                let saves = try stores.map { try $0.snapshot().count(FetchDescription(entityName: "Author")) }
                let isPrepared = stores.contains { $0.joint.prepared != nil }
                if isPrepared, Set(saves) == (isCommitted ? [1, 2] : [1]) { found = image.disk }
                for store in stores { try store.close() }
            })
        return try #require(found)
    }
}
