import Hornbeam

extension Command {
    static let importCatalogue = Command(
        name: "import",
        summary: "import a package catalogue into a store",
        help: """
            Usage: hornbeam import STORE [--file FILE]…

            Reads apt's lists of this machine, or else dpkg's status file, and imports packages, dependencies,
            maintainers, sections and tags into STORE, which is created if it does not exist. Packages that are
            already in STORE do not change. Malformed paragraphs are reported and skipped.

              --file FILE   read this file instead (a list of packages, or one compressed with LZ4)

            Example: hornbeam import Packages.hornbeam --file /var/lib/dpkg/status
            """,
        run: { arguments in
            let files = try arguments.options("--file")
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            let catalogue = try Catalogue.find(files: files)
            let container = try CatalogueModel.open(at: path)
            let importResult = try await CatalogueImporter.run(catalogue, into: container)
            Console.printLine(importResult.description)
            importResult.remarks.forEach(Console.printLine)
            try container.close()
        })
}
