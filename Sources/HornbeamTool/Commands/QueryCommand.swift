import Foundation
import Hornbeam

extension Command {
    private static let queryOptions = """
          --where FORMAT   a predicate, such as "section.name == 'games' AND installedSize > 1000000"
          --sort KEYS      key paths to sort by, separated by commas; -KEY sorts from large to small
          --limit N        at most N objects (20)
          --offset N       skip the first N
        """

    static let query = Command(
        name: "query",
        summary: "fetch objects of any store and print them as a table",
        help: """
            Usage: hornbeam query STORE ENTITY [--where FORMAT] [--sort KEYS] [--limit N] [--offset N]
                                  [--columns KEY,…] [--count] [--explain]

            \(queryOptions)
              --columns KEYS   the columns, separated by commas; key paths over to-one relationships are allowed
              --count          print the number of objects only
              --explain        print the plan of the fetch only

            Example: hornbeam query Packages.hornbeam Package --where "name BEGINSWITH 'libswift'" --sort -installedSize
            """,
        run: { arguments in
            let columns = try arguments.option("--columns")
            let isCount = arguments.flag("--count")
            let isExplained = arguments.flag("--explain")
            var (path, query) = try Query.parse(&arguments, limit: isCount ? 0 : 20)
            query.columns = columns?.split(separator: ",").map(String.init) ?? []
            try StoreInspection.withContainer(path) { container in
                try print(query, container.viewContext, isCount: isCount, isExplained: isExplained)
            }
        })

    static let explain = Command(
        name: "explain",
        summary: "explain how a fetch is executed, its cost, and an index that would help",
        help: """
            Usage: hornbeam explain STORE ENTITY [--where FORMAT] [--sort KEYS] [--limit N] [--offset N]

            \(queryOptions)

            Prints the plan, runs the fetch, and prints how many rows and leaves it read and how long it took.

            Example: hornbeam explain Packages.hornbeam Package --where "installedSize > 100000000" --sort name
            """,
        run: { arguments in
            let (path, query) = try Query.parse(&arguments, limit: 0)
            try StoreInspection.withContainer(path) { container in Console.printLine(try query.explained(in: container.viewContext)) }
        })

    @MainActor private static func print(
        _ query: Query, _ context: ManagedObjectContext, isCount: Bool, isExplained: Bool
    ) throws {
        if isExplained {
            Console.printLine(try query.request().explain(in: context))
        } else if isCount {
            Console.printLine(String(try context.count(try query.request())))
        } else {
            Console.printLine(try query.run(in: context).description)
        }
    }
}

extension Query {
    /// The store and the query of a command line.
    /// - Parameter limit: The default limit; 0 for all objects.
    static func parse(_ arguments: inout Arguments, limit: Int) throws -> (path: String, query: Query) {
        let format = try arguments.option("--where")
        let sorts = try arguments.options("--sort").flatMap { $0.split(separator: ",").map { sort(String($0)) } }
        let most = try arguments.integer("--limit", in: 1...1_000_000)
        let offset = try arguments.integer("--offset", in: 0...Int.max)
        let path = try arguments.word("the path of the store")
        var query = Query(entityName: try arguments.word("the name of the entity"))
        try arguments.finish()
        query.format = format
        query.sorts = sorts
        query.limit = most ?? limit
        query.offset = offset ?? query.offset
        return (path, query)
    }

    private static func sort(_ key: String) -> FetchSort {
        key.hasPrefix("-") ? .descending(String(key.dropFirst())) : .ascending(key)
    }

    /// The plan, and the cost of its execution.
    func explained(in context: ManagedObjectContext) throws -> String {
        let request = try request()
        let plan = try request.explain(in: context)
        let before = context.fetchCounters
        let clock = ContinuousClock()
        let start = clock.now
        let count = try context.fetchIDs(request).count
        let elapsed = clock.now - start
        let cost = context.fetchCounters - before
        return """
            \(plan)
            \(Figures.count(count, "result")); \(Figures.count(cost.rowsRead, "row")) read in \(Figures.count(cost.leavesRead, "leaf", "leaves")), \
            \(Figures.duration(elapsed))
            """
    }
}
