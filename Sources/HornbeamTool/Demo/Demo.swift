import Foundation
import Hornbeam

/// The demo: import, queries, the same queries on a server, migration, durability.
@MainActor struct Demo {
    let storePath: String
    var files: [String] = []
    var packageName = "liblz4-1"
    var word = "perl"
    var kills = 3
    /// The connection string of a PostgreSQL database; nil for none.
    var serverConnection: String?
    /// The tool's own executable.
    var executable = Demo.ownExecutable

    func run() async throws {
        if serverConnection != nil { try ServerDemo.requireSupport() }
        let catalogue = try Catalogue.find(files: files)
        try removeEarlierStore()
        let textBytes = try await importCatalogue(catalogue)
        let answers = try answerQuestions()
        if let serverConnection { try await showServer(serverConnection, catalogue, answers) }
        try showMigration()
        try showDurability()
        try finish(textBytes: textBytes)
    }

    // MARK: Steps

    private func importCatalogue(_ catalogue: Catalogue) async throws -> Int {
        Console.printLine("Reading the package catalogue")
        for list in catalogue.lists { Console.printLine("  \(list.path)") }
        let container = try CatalogueModel.open(at: storePath)
        let importResult = try await CatalogueImporter.run(catalogue, into: container)
        Console.printLine(importResult.description)
        importResult.remarks.forEach(Console.printLine)
        let found = Figures.count(importResult.resolvedDependencies)
        Console.printLine("\(found) of \(Figures.count(importResult.dependencies)) dependencies name a package of the catalogue.")
        try container.close()
        return importResult.textBytes
    }

    private func answerQuestions() throws -> [QueryResult] {
        let container = try CatalogueModel.open(at: storePath)
        let queries = CatalogueQueries(context: container.viewContext, word: word, packageName: packageName)
        var answers: [QueryResult] = []
        try queries.runAll { answer in
            Console.printLine("\n\(answer.description)")
            answers.append(answer)
        }
        var query = Query(entityName: "Package")
        query.format = "section.name == 'games' AND installedSize > 500000000"
        query.sorts = [.descending("installedSize")]
        query.limit = 5
        query.columns = ["name", "version", "installedSize", "maintainer.name"]
        Console.printLine("\nA query of your own can look like this:\n  \(query.commandLine(tool: Self.toolName, storePath: storePath))\n")
        Console.printLine(try query.run(in: container.viewContext).description)
        try container.close()
        return answers
    }

    private func showServer(_ connection: String, _ catalogue: Catalogue, _ answers: [QueryResult]) async throws {
        let demo = ServerDemo(connection: connection, word: word, packageName: packageName)
        Console.printLine("\nPostgreSQL: the same catalogue and the same queries in the schema “\(demo.schema)”.")
        let outcome = try await demo.run(catalogue, expecting: answers)
        Console.printLine(outcome.importResult.description)
        Console.printLine(outcome.table.description)
    }

    private func showMigration() throws {
        Console.printLine("\nMigration: a second version of the model renames an attribute, adds a required one and splits an entity.")
        let outcome = try MigrationDemo(storePath: storePath).run { plan in
            Console.printLine(plan.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
        }
        Console.printLine(outcome.description)
    }

    private func showDurability() throws {
        guard kills > 0 else { return }
        Console.printLine("\nDurability: a process saves updates and reports each acknowledged save; it is killed at a random moment.")
        let show = DurabilityDemo(executable: executable, storePath: storePath, kills: kills)
        Console.printLine(try show.run().description)
        Console.printLine(
            "A kill does not prove safety against power loss, because the operating system keeps the writes of a killed process; "
                + "the tests run the same scenario on a simulated disk that loses all writes without a sync.")
    }

    private func finish(textBytes: Int) throws {
        let container = try CatalogueModel.open(at: storePath)
        try container.close()
        let size = StoreFiles(path: storePath).byteCount
        let ratio = Double(size) / Double(max(1, textBytes)) * 100
        Console.printLine("""

            The store takes \(Figures.bytes(size)); the catalogue's text takes \(Figures.bytes(textBytes)) \
            (\(Figures.decimal(ratio, places: 0)) %). It is at \(storePath).

            Where to look next:
              \(Self.toolName) info \(storePath)
              \(Self.toolName) check \(storePath)
              \(Self.toolName) dump \(storePath) Package --limit 3
              \(Self.toolName) help query
              README.md, Docs/Architecture.md
            """)
    }

    /// Removes the store of an earlier demo. A path with other contents is refused with an error.
    private func removeEarlierStore() throws {
        guard FileManager.default.fileExists(atPath: storePath) else { return }
        do {
            try CatalogueModel.open(at: storePath).close()
        } catch {
            throw CommandFailure(
                "'\(storePath)' exists and is not a store that a demo made (\(FailureText.describe(error))); "
                    + "name another place with --store.")
        }
        try FileManager.default.removeItem(atPath: storePath)
    }

    /// The tool's path as it was called, relative to the current folder if it is below it, so that commands can be copied.
    private static var toolName: String {
        let name = CommandLine.arguments[0]
        let folder = FileManager.default.currentDirectoryPath + "/"
        return name.hasPrefix(folder) ? String(name.dropFirst(folder.count)) : name
    }

    nonisolated private static var ownExecutable: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? Bundle.main.executablePath ?? CommandLine.arguments[0]
    }
}
