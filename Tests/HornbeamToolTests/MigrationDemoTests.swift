import Foundation
import Hornbeam
import Testing

@testable import HornbeamTool

@Suite struct MigrationDemoTests {
    @Test("MIG-11: the demo migrates a copy of its store to a second version, and does not change the store")
    func copyIsMigrated() throws {
        let folder = TemporaryFolder()
        let path = folder.path("Packages.hornbeam")
        let first = try CatalogueModel.open(at: path)
        try first.write { context in
            let maintainer = Maintainer(in: context, name: "Jane", address: "jane@example.org")
            for number in 1...3 { Package(in: context, name: "p\(number)", version: "1", architecture: "all", summary: "s", maintainer: maintainer) }
            Maintainer(in: context, name: "Nobody")
        }
        try first.close()
        var plan = ""
        let outcome = try MigrationDemo(storePath: path).run { plan += $0 }
        #expect(outcome.packages == 3 && outcome.mailboxes == 1)
        #expect(
            plan == """
                Stage “mailboxes”
                Package: changed
                  ~ synopsis, renamed from summary
                  + label, computed by a closure
                Maintainer: changed
                  + mailboxes, new, empty
                  - address, removed
                Mailbox: added
                All objects are copied, and code changes the copy.
                Package: 3 rows are rewritten: “label” is computed
                About \(plan.firstMatch(of: /About ([0-9]+) rows/).map { String($0.1) } ?? "") rows and entries and 2 MiB are written.
                """)
        let container = try CatalogueModel.open(at: path)
        #expect(try container.read { context in try context.fetch(FetchRequest<Package>()).map(\.summary) } == ["s", "s", "s"])
        try container.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Packages.hornbeam"])
    }
}
