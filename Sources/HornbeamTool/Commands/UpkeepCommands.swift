import Foundation
import Hornbeam
import HornbeamStore

/// Backup, compaction and salvage.
extension Command {
    static let backup = Command(
        name: "backup",
        summary: "copy a store to a new folder, also while it is in use",
        help: """
            Usage: hornbeam backup STORE TARGET

            The copy contains all durable saves. TARGET exists only after the copy is complete.
            """,
        run: { arguments in
            let (path, target) = try sourceAndTarget(&arguments)
            try StoreInspection.withStore(path) { store in
                var line = ProgressLine("copying")
                let report = try store.backup(to: target) { line.update($0.fraction, $0.part) }
                line.finish("done")
                Console.printLine(
                    "\(target): transaction \(Figures.count(report.transaction)), \(Figures.count(report.files, "file")), "
                        + "\(Figures.bytes(report.bytes)) copied")
            }
        })

    static let salvage = Command(
        name: "salvage",
        summary: "save what can be read of a damaged store into a new one",
        help: """
            Usage: hornbeam salvage STORE TARGET

            STORE is not changed. Prints the losses, and ends with status 1 if there are any.
            """,
        run: { arguments in
            let (path, target) = try sourceAndTarget(&arguments)
            var line = ProgressLine("salvaging")
            let report = try Store.salvage(path, to: target) { line.update($0.fraction, $0.part) }
            line.finish(report.isComplete ? "done" : "with losses")
            Console.printLine(report.description)
            if !report.isComplete {
                throw CommandFailure("Not everything could be saved; keep the damaged store until you no longer need it.")
            }
        })

    static let compact = Command(
        name: "compact",
        summary: "rewrite a store without gaps",
        help: """
            Usage: hornbeam compact STORE

            Never necessary, because a store limits its size itself. Other processes may have the store open if they share it (isShared).
            """,
        run: { arguments in
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            // The files in the folder, before the store is opened and after it was closed.
            let files = StoreFiles(path: path)
            let before = files.byteCount
            try StoreInspection.withStore(path, forWriting: true) { store in
                var line = ProgressLine("compacting")
                try store.compact { line.update($0.fraction, $0.part) }
                line.finish("done")
            }
            Console.printLine("\(Figures.bytes(before)) before, \(Figures.bytes(files.byteCount)) now")
        })

    private static func sourceAndTarget(_ arguments: inout Arguments) throws -> (source: String, target: String) {
        let source = try arguments.word("the path of the store")
        let target = try arguments.word("the path of the new store")
        try arguments.finish()
        return (source, target)
    }
}
