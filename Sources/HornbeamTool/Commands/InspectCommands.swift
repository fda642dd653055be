import Foundation
import Hornbeam
import HornbeamStore

extension Command {
    static let info = Command(
        name: "info",
        summary: "show the contents and the size of a store",
        help: "Usage: hornbeam info STORE",
        run: { arguments in
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            try StoreInspection.withStore(path) { Console.printLine(try StoreSummary(path: path, store: $0).description()) }
        })

    static let check = Command(
        name: "check",
        summary: "verify every page, count, index and relationship of a store",
        help: """
            Usage: hornbeam check STORE

            Changes nothing. Prints each problem on a line of its own, and ends with status 1 if there is one.
            """,
        run: { arguments in
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            try StoreInspection.withStore(path, check)
        })

    static let dump = Command(
        name: "dump",
        summary: "print the rows of an entity, or the structure of the whole store",
        help: """
            Usage: hornbeam dump STORE [--leaves]
                   hornbeam dump STORE ENTITY [--limit N]

            Without an entity, prints every tree of the store with its layout and its inner pages. With an entity, prints
            its rows, one per line, with key, version and values.

              --leaves    print the leaves of the trees too
              --limit N   at most N rows (100)
            """,
        run: { arguments in
            let limit = try arguments.integer("--limit", in: 1...Int.max) ?? 100
            let showsLeaves = arguments.flag("--leaves")
            let path = try arguments.word("the path of the store")
            let entityName = try arguments.optionalWord()
            try arguments.finish()
            try StoreInspection.withStore(path) { store in
                if let entityName {
                    Console.printLine(try store.dump(store.model.entity(named: entityName), limit: limit))
                } else {
                    try store.dumpStructure(leaves: showsLeaves) { Console.printLine($0) }
                }
            }
        })

    private static func check(_ store: Store) throws {
        var progress = ProgressLine("checking")
        let report = try store.check { progress.update($0.fraction, $0.part) }
        progress.finish(report.isSound ? "done" : "problems found")
        Console.printLine(report.description)
        if !report.isSound {
            throw CommandFailure("\(Figures.count(report.problems.count, "problem")) found; keep a copy of the store before you do anything to it.")
        }
    }
}
