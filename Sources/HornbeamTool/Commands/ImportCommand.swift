import Hornbeam

extension Command {
    static let importCatalogue = Command(
        name: "import",
        summary: "bring a package catalogue into a store",
        help: """
            Usage: hornbeam import STORE [--file FILE]…

            Reads apt's lists of this machine, else dpkg's status file, and brings packages, dependencies,
            maintainers, sections and tags into STORE, which is made when it is not there. Packages that STORE
            holds already are left as they are. Malformed paragraphs are reported and skipped.

              --file FILE   read this file instead (a list of packages, or one compressed with LZ4)

            Example: hornbeam import Packages.hornbeam --file /var/lib/dpkg/status
            """,
        run: { arguments in
            let files = try arguments.options("--file")
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            let catalogue = try Catalogue.find(files: files)
            let container = try CatalogueModel.open(at: path)
            let receipt = try await CatalogueImporter.run(catalogue, into: container)
            Console.line(receipt.description)
            receipt.remarks.forEach(Console.line)
            try container.close()
        })
}
