import Foundation
import Hornbeam
import HornbeamStore
import HornbeamThreads

extension Command {
    static let migrate = Command(
        name: "migrate",
        summary: "bring a store to another version of its model",
        help: """
            Usage: hornbeam migrate STORE --model NEW [--dry-run] [--backup DIR]

            Prints what happens to each entity and what it costs, then migrates the store in place. A crash leaves the old version or the
            new one, whole. Nobody else may have the store open for writing.

              --model NEW    an .xcdatamodeld (its current version counts), an .xcdatamodel, a JSON file, or a store
              --dry-run      print the plan and change nothing
              --backup DIR   copy the store into that folder first

            Example: hornbeam migrate Shop.hornbeam --model Shop2.json --dry-run
            """,
        run: { arguments in
            let isDry = arguments.flag("--dry-run")
            let backup = try arguments.option("--backup")
            guard let new = try arguments.option("--model") else { throw UsageError("--model is missing") }
            let path = try arguments.word("the path of the store")
            try arguments.finish()
            let model = try ManagedObjectModel(try ModelFile(new).definition())
            guard let plan = try Store.migrationPlan(of: .directory(path), to: model) else {
                return Console.line("\(path): the store needs no migration")
            }
            Console.line(plan.description)
            if !isDry { try migrate(path, to: model, backup) }
        })

    private static func migrate(_ path: String, to model: ManagedObjectModel, _ backup: String?) throws {
        let line = Guarded(ProgressLine("migrating"))
        var options = Store.Options()
        options.createIfMissing = false
        var migration = MigrationOptions()
        migration.backupDirectory = backup
        migration.progress = { step in line.withLock { $0.update(step.fraction, step.part) } }
        options.migration = migration
        try Store.open(.directory(path), model: model, options: options).close()
        line.withLock { $0.finish("done in \(Figures.duration($0.elapsed))") }
    }
}
