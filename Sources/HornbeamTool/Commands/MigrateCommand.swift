import Foundation
import Hornbeam
import HornbeamStore
import HornbeamThreads

extension Command {
    static let migrate = Command(
        name: "migrate",
        summary: "migrate a store to another version of its model",
        help: """
            Usage: hornbeam migrate STORE --model NEW [--dry-run] [--backup DIR]

            Prints the changes of each entity and their cost, then migrates the store in place. After a crash the store has either the old
            version or the new one. Other processes may have the store open if they share it (isShared); then they must open it again with the
            new model.

              --model NEW    an .xcdatamodeld or a folder of JSON models: the store is migrated over its versions to the current one (of
                             JSON models the last by name); or an .xcdatamodel, a JSON file, or a store
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
            let target = try MigrationTarget(new)
            var options = Store.Options()
            options.createIfMissing = false
            options.migration = target.options
            guard let plan = try Store.migrationPlan(of: .directory(path), to: target.model, options: options) else {
                return Console.printLine("\(path): the store needs no migration")
            }
            Console.printLine(plan.description)
            if !isDry { try migrate(path, to: target, backup) }
        })

    private static func migrate(_ path: String, to target: MigrationTarget, _ backup: String?) throws {
        let line = Guarded(ProgressLine("migrating"))
        var options = Store.Options()
        options.createIfMissing = false
        options.keepsStoredHistory = true
        options.isShared = true
        var migration = target.options
        migration.backupDirectory = backup
        migration.progress = { step in line.withLock { $0.update(step.fraction, step.part) } }
        options.migration = migration
        try Store.open(.directory(path), model: target.model, options: options).close()
        line.withLock { $0.finish("done in \(Figures.duration($0.elapsed))") }
    }
}

/// The destination model of a migration, with the versions before it if there are several.
private struct MigrationTarget {
    let model: ManagedObjectModel
    var options = MigrationOptions()

    init(_ path: String) throws {
        if let versions = try ModelFile.versions(path) {
            model = versions.current
            options.take(versions)
        } else {
            model = try ManagedObjectModel(try ModelFile(path).definition())
        }
    }
}
