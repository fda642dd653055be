import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore

/// The child process that is killed: saves continuously, and reports each acknowledged save.
enum DurabilityChild {
    /// The report of one save: `SERIAL SYNCS`, one line each.
    struct Report: Equatable {
        let serial: Int
        /// The number of syncs of the store's files by this process.
        let syncs: Int

        init(serial: Int, syncs: Int) {
            self.serial = serial
            self.syncs = syncs
        }

        init?(line: Substring) {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 2 else { return nil }
            self.init(serial: numbers[0], syncs: numbers[1])
        }

        var line: String { "\(serial) \(syncs)\n" }
    }

    /// Runs until it is killed, or until its reports are not read any more.
    static func run(storePath: String) throws {
        let container = try CatalogueModel.open(at: storePath)
        try container.performAndWait { context in
            let packages = try DurabilityTrial.participants(in: context)
            var serial = try DurabilityTrial.newestSave(in: context)
            let store = try container.openStore()
            let syncsBefore = try store.engineStatistics().syncs
            while true {
                serial += 1
                try DurabilityTrial.save(serial, to: packages, in: context)
                let syncs = try store.engineStatistics().syncs - syncsBefore
                guard Console.write(Report(serial: serial, syncs: syncs).line, to: STDOUT_FILENO) else { return }
                if serial % 500 == 0 { context.reset() }
            }
        }
    }
}
