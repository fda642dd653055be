import Foundation
import Hornbeam

extension Command {
    static let demo = Command(
        name: "demo",
        summary: "import this machine's package catalogue, query it, migrate it, survive being killed",
        help: """
            Usage: hornbeam demo [--store STORE] [--file FILE]… [--package NAME] [--word WORD] [--kills COUNT]

            Reads the package catalogue of this Debian or Ubuntu machine into a new store, prints the results
            of queries with their time and the rows read, migrates a copy of the store to a second version of its
            model, then kills a saving process and verifies that the store contains every acknowledged save.

              --store STORE    the path of the store (Packages.hornbeam in the current folder); the store of an
                               earlier demo is replaced, other files are not touched
              --file FILE      read this file instead of the machine's lists
              --package NAME   the package whose dependents are followed (liblz4-1)
              --word WORD      the word looked for in maintainers' names (perl)
              --kills COUNT    how often the saving process is killed (3)
            """,
        run: { arguments in
            var demo = Demo(storePath: try arguments.option("--store") ?? "Packages.hornbeam")
            demo.files = try arguments.options("--file")
            demo.packageName = try arguments.option("--package") ?? demo.packageName
            demo.word = try arguments.option("--word") ?? demo.word
            demo.kills = try arguments.integer("--kills", in: 0...1000) ?? demo.kills
            try arguments.finish()
            try await demo.run()
        })

    /// The child process of the demo, which is killed.
    static let durabilityChild = Command(
        name: "durability-child",
        summary: "save for ever and report each save (for the demo)",
        help: "Usage: hornbeam durability-child STORE",
        isHidden: true,
        run: { arguments in
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            try DurabilityChild.run(storePath: path)
        })
}
