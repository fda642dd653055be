import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore
import Testing

@testable import HornbeamTool

/// The demo's durability trial on a simulated disk whose power fails at every operation, which loses unsynced writes.
@Suite struct DurabilitySimulationTests {
    private let model: ManagedObjectModel

    init() throws { model = try CatalogueModel.make() }

    private func open(_ disk: SimulatedDisk) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 8 << 20
        let store = try Store.open(.directory("trial"), model: model, options: options)
        return try PersistentContainer.over(store, classes: CatalogueModel.classes)
    }

    /// A disk with a durable store of a few packages.
    private func preparedDisk() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let container = try open(disk)
        try container.performAndWait { context in
            for number in 0..<8 {
                let package = Package(context: context)
                package.name = "package-\(number)"
                package.version = "1"
                package.architecture = "all"
            }
            try context.save()
        }
        try container.close()
        return disk.copy()
    }

    @Test func aPowerCutAtAnyMomentKeepsEveryAcknowledgedSave() throws {
        var enumerator = CrashEnumerator()
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        // The engine's own tests crash at every operation. Here all modules run on the disk, which takes longer.
        enumerator.stride = 3
        let report = try enumerator.run(on: try preparedDisk()) { disk in
            let container = try open(disk)
            try container.performAndWait { context in
                let packages = try DurabilityTrial.participants(in: context)
                for serial in 1...3 {
                    disk.mark(.submitted(UInt64(serial)))
                    try DurabilityTrial.save(serial, to: packages, in: context)
                    disk.mark(.acknowledged(UInt64(serial)))
                }
            }
            try container.close()
        } verify: { image in
            let container = try open(image.disk)
            let fault = try container.performAndWait { try DurabilityTrial.fault(in: $0, acknowledged: Int(image.acknowledged)) }
            if let fault { throw CommandFailure(fault) }
            let check = try container.openStore().check()
            if !check.isSound { throw CommandFailure(check.description) }
        }
        #expect(report.points >= 8 && report.images > 100, "\(report)")
    }
}
