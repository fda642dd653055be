import Foundation
import Hornbeam
import HornbeamStore

/// Stores and documents in one file.
extension Command {
    static let pack = Command(
        name: "pack",
        summary: "pack a store or a document into one file, also while it is in use",
        help: """
            Usage: hornbeam pack STORE FILE

            STORE is a store, or a document: then its last saved state is packed, without unsaved changes. FILE, usually
            Name.hornbeamz, contains all durable saves and a checksum, and exists only after it is complete.
            """,
        run: { arguments in
            let store = try arguments.word("the path of the store")
            let file = try arguments.word("the path of the new file")
            try arguments.finish()
            let saved = store + "/saved.hornbeam"
            var line = ProgressLine("packing")
            let report = try StoreInspection.withStore(FileManager.default.fileExists(atPath: saved) ? saved : store) { store in
                try store.pack(to: file) { line.update($0.fraction, $0.part) }
            }
            line.finish("done")
            Console.printLine(
                "\(file): transaction \(Figures.count(report.transaction)), \(Figures.count(report.files, "file")), \(Figures.bytes(report.bytes))")
        })

    static let unpack = Command(
        name: "unpack",
        summary: "make a store or a document of a packed one",
        help: """
            Usage: hornbeam unpack FILE STORE [--document]

              --document   make a document, whose saved state is the packed one

            All checksums are verified before STORE exists. FILE is not changed.
            """,
        run: { arguments in
            let isDocument = arguments.flag("--document")
            let file = URL(filePath: try arguments.word("the path of the packed file"))
            let target = URL(filePath: try arguments.word("the path of the new store"))
            try arguments.finish()
            var line = ProgressLine("unpacking")
            let show = { (progress: StoreProgress) in line.update(progress.fraction, progress.part) }
            if isDocument {
                try PersistentDocument.unpack(file, to: target, progress: show)
            } else {
                try PersistentStoreCoordinator.unpackStore(file, to: target, progress: show)
            }
            line.finish("done")
            Console.printLine("\(target.path): \(isDocument ? "a document" : "a store") with the packed state")
        })
}
