import Hornbeam
import Testing

@testable import HornbeamTool

@Suite struct DurabilityTrialTests {
    /// A container with a few packages, after `saves` saves of the trial.
    private func container(saves: Int) throws -> PersistentContainer {
        let container = try PersistentContainer.inMemory(model: CatalogueModel.make(), classes: CatalogueModel.classes)
        try container.performAndWait { context in
            for number in 0..<20 {
                let package = Package(context: context)
                package.name = "package-\(number)"
                package.version = "1"
                package.architecture = "all"
            }
            try context.save()
            let packages = try DurabilityTrial.participants(in: context)
            for serial in stride(from: 1, through: saves, by: 1) {
                try DurabilityTrial.save(serial, to: packages, in: context)
            }
        }
        return container
    }

    private func fault(_ container: PersistentContainer, acknowledged: Int) throws -> String? {
        try container.performAndWait { try DurabilityTrial.fault(in: $0, acknowledged: acknowledged) }
    }

    @Test(arguments: [0, 1, 2, 99, 100, 101, 130])
    func wholeSavesAreInOrder(saves: Int) throws {
        let container = try container(saves: saves)
        #expect(try fault(container, acknowledged: saves) == nil)
        // The last save may be durable without a report.
        if saves > 0 { #expect(try fault(container, acknowledged: saves - 1) == nil) }
    }

    @Test func aMissingAcknowledgedSaveIsFound() throws {
        #expect(try fault(try container(saves: 5), acknowledged: 6) == "save 6 was acknowledged and the store ends with save 5")
    }

    @Test func aSaveFromNowhereIsFound() throws {
        #expect(try fault(try container(saves: 5), acknowledged: 3) == "save 5 is in the store and the last acknowledged one is 3")
    }

    @Test func aHalfDoneSaveIsFound() throws {
        let container = try container(saves: 5)
        try container.performAndWait { context in
            let packages = try DurabilityTrial.participants(in: context)
            let place = try #require(DurabilityTrial.stamped(by: 5, of: packages.count).first)
            context.object(Package.self, with: packages[place]).trialSerial = 2
            try context.save()
        }
        #expect(try fault(container, acknowledged: 5) == "a package was last changed by save 2, and save 5 was expected")
    }

    @Test func aLostListEntryIsFound() throws {
        let container = try container(saves: 5)
        try container.performAndWait { context in
            let third = try FetchRequest<TrialSave>().where("serial == 3")
            context.delete(try #require(try context.fetch(third).first))
            try context.save()
        }
        #expect(try fault(container, acknowledged: 5) == "4 saves are listed where 5 should be")
    }

    @Test func reportsAreReadAsTheyWereWritten() {
        let report = DurabilityChild.Report(serial: 12, syncs: 34)
        #expect(DurabilityChild.Report(line: Substring(report.line.dropLast())) == report)
        #expect(DurabilityChild.Report(line: "12") == nil)
    }
}
