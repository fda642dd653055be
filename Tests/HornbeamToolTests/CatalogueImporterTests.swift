import Foundation
import Hornbeam
import Testing

@testable import HornbeamTool

private let catalogue = """
    Package: game
    Version: 1.0
    Architecture: amd64
    Installed-Size: 10
    Maintainer: Jane Doe <jane@example.org>
    Section: games
    Tag: role::program, game::strategy
    Pre-Depends: libc (>= 2)
    Depends: data (= 1.0) | data-free, missing

    Package: data
    Version: 1.0
    Architecture: all
    Maintainer: Jane Doe <jane@example.org>
    Section: games
    Tag: game::strategy
    Recommends: game:any

    Package: libc
    Version: 1.9
    Architecture: amd64
    Section: libs

    Package: libc
    Version: 2.1
    Architecture: amd64
    Section: libs

    """

@Suite struct CatalogueImporterTests {
    private let folder = TemporaryFolder()

    private func imported(_ text: String = catalogue, times: Int = 1) async throws -> (PersistentContainer, ImportResult) {
        let path = try folder.write(text, to: "Packages")
        let container = try PersistentContainer.inMemory(model: CatalogueModel.make(), classes: CatalogueModel.classes)
        var importResult = ImportResult()
        for _ in 0..<times {
            importResult = try await CatalogueImporter.run(Catalogue(lists: [.init(path: path)]), into: container, isSilent: true)
        }
        return (container, importResult)
    }

    private func package(_ name: String, _ context: ManagedObjectContext) throws -> Package {
        try #require(try context.fetch(FetchRequest<Package>().where("name == %@", name)).last)
    }

    @Test func packagesArriveWithTheirGroups() async throws {
        let (container, importResult) = try await imported()
        #expect(importResult.packages == 4 && importResult.maintainers == 1 && importResult.sections == 2 && importResult.tags == 2)
        try container.performAndWait { context in
            let game = try package("game", context)
            #expect(game.installedSize == 10 * 1024)
            #expect(game.section?.name == "games" && game.section?.packages.count == 2)
            #expect(game.maintainer?.address == "jane@example.org")
            #expect(game.tags.map(\.name).sorted() == ["game::strategy", "role::program"])
            let strategy = try context.fetch(FetchRequest<HornbeamTool.Tag>().where("name == 'game::strategy'"))
            #expect(strategy.first?.packages.map(\.name).sorted() == ["data", "game"])
        }
    }

    @Test func dependenciesLeadToTheirTargets() async throws {
        let (container, importResult) = try await imported()
        #expect(importResult.dependencies == 5 && importResult.resolvedDependencies == 3)
        try container.performAndWait { context in
            let lines = try package("game", context).dependencies.map { dependency in
                "\(dependency.kind) \(dependency.clause).\(dependency.alternative) \(dependency.targetName) "
                    + "\(dependency.relation ?? "-") \(dependency.version ?? "-") → \(dependency.target?.version ?? "nothing")"
            }
            #expect(lines.sorted() == [
                "Depends 0.0 data = 1.0 → 1.0", "Depends 0.1 data-free - - → nothing", "Depends 1.0 missing - - → nothing",
                "Pre-Depends 0.0 libc >= 2 → 2.1",
            ])
            let game = try package("game", context)
            #expect(game.dependents.map { "\($0.kind) \($0.restriction ?? "") \($0.package?.name ?? "")" } == ["Recommends :any data"])
        }
    }

    @Test func importingAgainChangesNothing() async throws {
        let (container, importResult) = try await imported(times: 2)
        #expect(importResult.packages == 0 && importResult.skippedPackages == 4 && importResult.dependencies == 0)
        #expect(try container.performAndWait { try $0.count(FetchRequest<Package>()) } == 4)
        #expect(try container.performAndWait { try $0.count(FetchRequest<Dependency>()) } == 5)
        #expect(try container.performAndWait { try $0.count(FetchRequest<Maintainer>()) } == 1)
    }

    @Test func malformedParagraphsAreSkippedAndCounted() async throws {
        let (_, importResult) = try await imported(catalogue + "\nPackage: broken\n")
        #expect(importResult.packages == 4)
        #expect(importResult.remarks.first == "1 malformed paragraph skipped:")
        #expect(importResult.remarks.last?.hasSuffix("Packages:29: the paragraph has no field Version; the paragraph is skipped") == true)
    }

    @Test func deletingAPackageTakesItsDependenciesAlong() async throws {
        let (container, _) = try await imported()
        try container.performAndWait { context in
            context.delete(try package("game", context))
            try context.save()
            #expect(try context.count(FetchRequest<Dependency>()) == 1)
            #expect(try context.fetch(FetchRequest<Dependency>()).first?.target == nil)
        }
    }
}
