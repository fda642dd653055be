import Foundation
import Hornbeam

extension Command {
    static let demo = Command(
        name: "demo",
        summary: "import this machine's package catalogue, query it, migrate it, survive being killed",
        help: """
            Usage: hornbeam demo [--store STORE] [--file FILE]… [--package NAME] [--word WORD] [--kills COUNT]
                                 [--postgres] [--connection TEXT]

            Reads the package catalogue of this Debian or Ubuntu machine into a new store, prints the results
            of queries with their time and the rows read, migrates a copy of the store to a second version of its
            model, then kills a saving process and verifies that the store contains every acknowledged save.

              --store STORE    the path of the store (Packages.hornbeam in the current folder); the store of an
                               earlier demo is replaced, other files are not touched
              --file FILE      read this file instead of the machine's lists
              --package NAME   the package whose dependents are followed (liblz4-1)
              --word WORD      the word looked for in maintainers' names (perl)
              --kills COUNT    how often the saving process is killed (3)
              --postgres       imports the catalogue into a PostgreSQL database too, in a new schema, and verifies
                               that the same queries have the same results; for a tool with PostgreSQL only
              --connection TEXT  the database, as a connection string or URI of libpq (its defaults)
            """,
        run: { arguments in
            var demo = Demo(storePath: try arguments.option("--store") ?? "Packages.hornbeam")
            demo.files = try arguments.options("--file")
            demo.packageName = try arguments.option("--package") ?? demo.packageName
            demo.word = try arguments.option("--word") ?? demo.word
            demo.kills = try arguments.integer("--kills", in: 0...1000) ?? demo.kills
            let usesServer = arguments.flag("--postgres")
            let connection = try arguments.option("--connection")
            if usesServer || connection != nil { demo.serverConnection = connection ?? "" }
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
