import Foundation
import Hornbeam

extension Command {
    static let query = Command(
        name: "query",
        summary: "fetch objects of any store and print them as a table",
        help: """
            Usage: hornbeam query STORE ENTITY [--where FORMAT] [--sort KEY]… [--limit N] [--offset N]
                                  [--columns KEY,…] [--count] [--explain]

              --where FORMAT   a predicate, such as "section.name == 'games' AND installedSize > 1000000"
              --sort KEY       a key path to sort by; -KEY sorts from large to small; may be repeated
              --limit N        at most N objects (20)
              --offset N       pass over the first N
              --columns KEYS   what to show, separated by commas; key paths over to-one relationships are fine
              --count          print the number of objects only
              --explain        print how the store would answer, and nothing else

            Example: hornbeam query Packages.hornbeam Package --where "name BEGINSWITH 'libswift'" --sort -installedSize
            """,
        run: { arguments in
            let format = try arguments.option("--where")
            let sorts = try arguments.options("--sort").map(sort)
            let limit = try arguments.integer("--limit", in: 1...1_000_000)
            let offset = try arguments.integer("--offset", in: 0...Int.max)
            let columns = try arguments.option("--columns")
            let isCount = arguments.flag("--count")
            let isExplained = arguments.flag("--explain")
            let path = try arguments.word("the path of the store")
            var query = Query(entityName: try arguments.word("the name of the entity"))
            try arguments.finish()
            query.format = format
            query.sorts = sorts
            query.limit = limit ?? (isCount ? 0 : query.limit)
            query.offset = offset ?? query.offset
            query.columns = columns?.split(separator: ",").map(String.init) ?? []
            try StoreInspection.withContainer(path) { container in
                try print(query, container.viewContext, isCount: isCount, isExplained: isExplained)
            }
        })

    @MainActor private static func print(
        _ query: Query, _ context: ManagedObjectContext, isCount: Bool, isExplained: Bool
    ) throws {
        if isExplained {
            Console.line(try context.explain(try query.request()))
        } else if isCount {
            Console.line(String(try context.count(try query.request())))
        } else {
            Console.line(try query.run(in: context).description)
        }
    }

    private static func sort(_ key: String) -> FetchSort {
        key.hasPrefix("-") ? .descending(String(key.dropFirst())) : .ascending(key)
    }
}
