import Foundation
import Hornbeam
import HornbeamThreads

/// One of several processes that change a ledger. It reports the beginning and the end of each operation on its own entries: `?+tag` and `+tag`
/// around an insertion, `?-tag` and `-tag` around a deletion, and `.` after other work.
struct LedgerChild {
    static let command = "ledger-child"

    enum Role: String {
        case writes
        /// Closes and opens the store all the time.
        case reopens
        /// Reads all states, without writing.
        case reads
        /// Copies the store, and verifies the copies.
        case backsUp
    }

    /// The number of consecutive attempts to open the store that may fail because of its model.
    private static let failuresMax = 5000

    private let ledger: Ledger
    private let role: Role
    /// The name of this process in the tags of its entries.
    private let name: String

    static func words(_ ledger: Ledger, _ role: Role, name: String) -> [String] {
        [command, "--path", ledger.folder.path, "--role", role.rawValue, "--stores", ledger.hasTwoStores ? "2" : "1", "--name", name]
            + (ledger.schema.map { ["--schema", $0] } ?? [])
    }

    init(_ options: HarnessOptions) throws {
        guard let path = options.extras["path"], let role = options.extras["role"].flatMap(Role.init), let name = options.extras["name"] else {
            throw UsageError("\(Self.command) needs --path, --role and --name")
        }
        ledger = Ledger(folder: URL(fileURLWithPath: path), hasTwoStores: options.extras["stores"] == "2", schema: options.extras["schema"])
        (self.role, self.name) = (role, name)
    }

    /// Runs until the process is killed, or until no process reads its reports any more.
    func run() throws -> Int32 {
        let works = (0..<threadCount).map { LedgerWork(ledger: ledger, name: $0 == 0 ? name : name + "b") }
        var failures = 0
        while true {
            do {
                let container = try ledger.open(isReadOnly: role == .reads)
                failures = 0
                switch role {
                case .writes, .reopens: try change(container, works)
                case .reads: try read(container)
                case .backsUp: try backUp(container)
                }
                try container.close()
            } catch let error as HornbeamError where error.code == .modelMismatch || error.code == .stagedMigrationBackwards {
                // Another process has migrated the store. The next attempt opens it with the newest model.
                failures += 1
                if failures == Self.failuresMax { throw error }
                usleep(1000)
            } catch is ReportsEnded { return 0 }
        }
    }

    /// The threads of one process complete interrupted saves over two stores at the same time.
    private var threadCount: Int { role == .writes && ledger.hasTwoStores ? 2 : 1 }

    /// Each thread has a context of its own. The first error ends all threads, and is thrown.
    private func change(_ container: PersistentContainer, _ works: [LedgerWork]) throws {
        let failure = Guarded<(any Error)?>(nil)
        Cores.share(works.count) { number in
            do {
                try container.performAndWait { context in
                    try works[number].change(context, times: role == .writes ? .max : 10) { failure.withLock { $0 == nil } }
                }
            } catch { failure.withLock { $0 = $0 ?? error } }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private func read(_ container: PersistentContainer) throws {
        let context = container.newContext()
        var known: Set<String> = []
        for round in 0..<200 {
            _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
            let tags = try Ledger.verify(context, hasLines: ledger.hasTwoStores)
            if tags != known || round % 50 == 0 { try LedgerWork.report(".") }
            known = tags
            usleep(500)
        }
    }

    private func backUp(_ container: PersistentContainer) throws {
        // Each store of a container is copied by itself, so two stores are not verified together.
        let coordinator = container.persistentStoreCoordinator
        for _ in 0..<20 {
            let copy = ledger.folder.appendingPathComponent("copy-\(name).hornbeam")
            try? FileManager.default.removeItem(at: copy)
            try coordinator.backUp(coordinator.persistentStores[0], to: copy)
            let opened = try Ledger.open([copy], ledger.version, isShared: Bool.random())
            _ = try opened.performAndWait { try Ledger.verify($0, hasLines: false) }
            try opened.close()
            try LedgerWork.report(".")
            usleep(20_000)
        }
    }
}

/// No process reads the reports any more.
struct ReportsEnded: Error {}

/// The changes of one thread.
final class LedgerWork {
    let ledger: Ledger
    let name: String
    /// The tags of the entries of this process.
    private var own: [String] = []
    private var count = 0

    init(ledger: Ledger, name: String) { (self.ledger, self.name) = (ledger, name) }

    /// Writes a report in one call, which a kill cannot split.
    static func report(_ text: String) throws {
        let line = Array("\(text)\n".utf8)
        if unsafe write(1, line, line.count) != line.count { throw ReportsEnded() }
    }

    func change(_ context: ManagedObjectContext, times: Int, while mayContinue: () -> Bool) throws {
        context.automaticallyMergesChangesFromParent = ledger.schema == nil
        for step in 0..<times {
            guard mayContinue() else { return }
            switch Int.random(in: 0..<10) {
            case 0..<6: try insert(context)
            case 6: try delete(context)
            case 7: try batch(context)
            default: try transfer(context)
            }
            if step % 50 == 49 {
                // Every second time the context keeps its objects, so that the check reads merged values.
                if step % 100 == 99 { context.reset() }
                if ledger.schema == nil { _ = try Ledger.verify(context, hasLines: ledger.hasTwoStores) }
            }
        }
    }

    /// Repeats a change until it is saved. Changes of other processes between reading and saving are conflicts, after which it is made again.
    private func saved(_ context: ManagedObjectContext, _ change: () throws -> Void) throws {
        while true {
            do {
                // The objects that the change reads must be of one state. On a server the save compares the versions that were read first: the context merges
                // nothing, and each change writes all objects that it reads.
                if ledger.schema == nil { try context.setQueryGeneration(from: .current) } else { context.reset() }
                defer { if ledger.schema == nil { try? context.setQueryGeneration(from: nil) } }
                try change()
                return try context.save()
            } catch let error as HornbeamError where Self.isConflict(error) {
                context.reset()
            }
        }
    }

    private static func isConflict(_ error: HornbeamError) -> Bool {
        [.mergeConflict, .constraintConflict, .objectNotFound, .multipleErrors].contains(error.code)
            || error.details.contains { isConflict($0) }
    }

    private func account(_ context: ManagedObjectContext) throws -> ManagedObject {
        let number = Int64.random(in: 0..<Int64(Ledger.accountCount))
        let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Account", predicate: FetchPredicate(format: "number == %@", number))).first
        if let found { return found }
        let account = try context.insert(entityNamed: "Account")
        account["number"] = .int(number)
        return account
    }

    private func add(_ amount: PropertyValue, _ sign: Int64, to account: ManagedObject) {
        guard case .int(let amount) = amount, case .int(let balance) = account["balance"] else { return }
        account["balance"] = .int(balance + sign * amount)
    }

    private func entry(_ tag: String, _ context: ManagedObjectContext, _ entity: String = "Entry") throws -> ManagedObject? {
        try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: FetchPredicate(format: "tag == %@", tag))).first
    }

    private func insert(_ context: ManagedObjectContext) throws {
        count += 1
        let tag = "\(name)-\(count)"
        let amount = PropertyValue.int(.random(in: -100...100))
        try Self.report("?+\(tag)")
        try saved(context) {
            let account = try account(context)
            let entry = try context.insert(entityNamed: "Entry")
            (entry["tag"], entry["amount"]) = (.string(tag), amount)
            try entry.setValue(account, forKey: "account")
            add(amount, 1, to: account)
            if ledger.hasTwoStores { try context.insert(entityNamed: "Line")["tag"] = .string(tag) }
        }
        own.append(tag)
        try Self.report("+\(tag)")
    }

    private func delete(_ context: ManagedObjectContext) throws {
        guard let tag = own.popLast() else { return }
        try Self.report("?-\(tag)")
        try saved(context) {
            guard let entry = try entry(tag, context), case .objectID(let id) = entry["account"] else {
                throw Finding("the entry \(tag) was acknowledged and is missing")
            }
            add(entry["amount"], -1, to: try context.existingObject(with: id))
            context.delete(entry)
            if ledger.hasTwoStores, let line = try self.entry(tag, context, "Line") { context.delete(line) }
        }
        try Self.report("-\(tag)")
    }

    /// Moves any entry, also of another process, to another account.
    private func transfer(_ context: ManagedObjectContext) throws {
        try saved(context) {
            var request = FetchRequest<ManagedObject>(entityName: "Entry")
            request.fetchLimit = 20
            guard let entry = try context.fetch(request).randomElement(), case .objectID(let id) = entry["account"] else { return }
            let (old, new) = (try context.existingObject(with: id), try account(context))
            if old === new { return }
            add(entry["amount"], -1, to: old)
            add(entry["amount"], 1, to: new)
            try entry.setValue(new, forKey: "account")
        }
        try Self.report(".")
    }

    /// A batch update that changes no balance.
    private func batch(_ context: ManagedObjectContext) throws {
        var request = BatchUpdateRequest(entityName: "Entry", predicate: try FetchPredicate(format: "amount == 0"))
        request.propertiesToUpdate = ["amount": try FetchExpression(format: "0")]
        try context.execute(request)
        context.reset()
        try Self.report(".")
    }
}
