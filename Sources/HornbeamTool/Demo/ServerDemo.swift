import Foundation
import Hornbeam
#if Postgres
import HornbeamPostgres
#endif

/// Imports the catalogue into a PostgreSQL database, and verifies that queries have the same answers as on Hornbeam's own store.
struct ServerDemo {
    /// libpq's connection string.
    let connection: String
    let word: String
    let packageName: String
    /// A schema that does not exist.
    let schema = "hornbeam demo \(UUID().uuidString.prefix(8))"

    struct Outcome {
        var importResult: ImportResult
        /// A row for each query, with its times.
        var table: TextTable
    }

    /// - Throws: `CommandFailure` if the tool was built without PostgreSQL.
    static func requireSupport() throws {
        #if !Postgres
        throw isMissing
        #endif
    }

    private static let isMissing = CommandFailure("This tool was built without PostgreSQL; build it with `swift build --traits Postgres`.")

    /// - Parameter expected: The answers of the own store.
    /// - Throws: `CommandFailure` for another answer.
    @MainActor func run(_ catalogue: Catalogue, expecting expected: [QueryResult]) async throws -> Outcome {
        let container = try await open()
        let importResult = try await CatalogueImporter.run(catalogue, into: container)
        var answers: [QueryResult] = []
        try CatalogueQueries(context: container.viewContext, word: word, packageName: packageName).runAll { answers.append($0) }
        try container.close()
        return Outcome(importResult: importResult, table: try Self.compare(answers, expected))
    }

    private func open() async throws -> PersistentContainer {
        #if Postgres
        let container = try PersistentContainer(name: "server", model: CatalogueModel.make(), classes: CatalogueModel.classes)
        container.persistentStoreDescriptions = [.postgres(connection, schema: schema)]
        try await container.loadPersistentStores(migration: MigrationMonitor())
        return container
        #else
        throw Self.isMissing
        #endif
    }

    static func compare(_ answers: [QueryResult], _ expected: [QueryResult]) throws -> TextTable {
        var table = TextTable([.text("query", widthMax: 70), .number("own store"), .number("PostgreSQL"), .text("answer")])
        guard answers.count == expected.count else { throw CommandFailure("PostgreSQL has \(answers.count) answers instead of \(expected.count).") }
        for (answer, own) in zip(answers, expected) {
            guard answer.hasSameAnswer(as: own) else {
                throw CommandFailure("The answer of PostgreSQL differs.\n\(answer.description)\nThe own store answers:\n\(own.description)")
            }
            table.append([own.title, Figures.duration(own.elapsed), Figures.duration(answer.elapsed), "the same"])
        }
        return table
    }
}
