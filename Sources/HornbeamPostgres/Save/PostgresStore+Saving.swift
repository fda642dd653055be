#if Postgres
public import Foundation
public import HornbeamModel

extension PostgresStore {
    /// The number of times that a transaction runs when the server rolls it back because of other transactions, or a connection is lost.
    static let attemptsMax = 5

    public func save(_ changes: CustomStoreChanges) throws {
        let layout = try layout
        do { try save(layout.inner(changes), layout) } catch let conflict as CustomStoreConflict { throw layout.outer(conflict) } catch
            let violation as CustomStoreViolation
        {
            throw CustomStoreViolation(error: violation.error, objects: violation.objects.map(layout.outer))
        }
    }

    private func save(_ changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        if layout.isSharded { try readShards(of: changes, layout) }
        let statements = try SaveStatements(changes, layout)
        try repeating { token, deadline in
            do { try run(statements, token, layout, deadline) } catch let error as PostgresError {
                if error.isUniqueViolation { throw try translated { try conflict(with: changes, error, deadline) } }
                if error.isOtherViolation, let refusal = refusal(of: changes, error, layout, deadline) { throw refusal }
                if error.isCalculation, let conflict = try statements.missingReferences(reading: { try existing($0, layout) }) { throw conflict }
                throw error
            }
        } isSaved: { token, deadline in
            try lendingToWrite(until: deadline) { try isSaved(token, layout, $0) } ? () : nil
        }
        if layout.isSharded { for row in changes.inserted { try layout.rememberShard(of: row) } }
        trimHistory()
    }

    /// Reads the objects whose shard keys the save needs and that this store has not read.
    private func readShards(of changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        let new = Set(changes.inserted.map(\.object))
        let unknown = try Set(ShardedChanges.objects(of: changes)).filter {
            try !new.contains($0) && layout.table(of: $0.entityName).shard != nil && layout.shard(of: $0) == nil
        }
        if !unknown.isEmpty { _ = try withConnection { try StoreReader(layout, $0).rows(of: Array(unknown)) } }
    }

    /// Runs a transaction until it is committed, or known not to be.
    ///
    /// - Parameter run: Runs the transaction, which records the token.
    /// - Parameter isSaved: The result of the transaction with a token; nil if it was not and never will be committed.
    /// - Throws: `CustomStoreDoubt` if the server cannot be queried after the transaction was sent.
    func repeating<R>(_ run: (UUID, Deadline) throws -> R, isSaved: (UUID, Deadline) throws -> R?) throws -> R {
        let deadline = pool.options.deadline
        var attempt = 1
        while true {
            // Found again after a lost connection, if the transaction was committed.
            let token = UUID()
            do { return try run(token, deadline) } catch let error as PostgresError {
                if error.kind == .lostConnection {
                    pool.closeIdle()
                    // Also if no connection is free, or the store was closed or migrated: none of these errors shows the outcome.
                    do { if let result = try isSaved(token, deadline) { return result } } catch let failure {
                        unknownSaves.add(token)
                        throw CustomStoreDoubt(token: token, error: unknownOutcome(failure))
                    }
                }
                let canSucceed = error.isRepeatable || error.kind == .lostConnection
                guard canSucceed, attempt < Self.attemptsMax, !deadline.isOver else { throw error.translated }
            }
            attempt += 1
            // Transactions that have waited for each other do not start at the same time again.
            Thread.sleep(forTimeInterval: Double.random(in: 0 ... 0.01) * Double(attempt))
        }
    }

    private func unknownOutcome(_ error: any Error) -> HornbeamError {
        let known = error as? HornbeamError
        let reason = known?.message ?? (error as? PostgresError)?.message ?? "\(error)"
        return HornbeamError(
            known?.code ?? .storeOperationFailed,
            "The PostgreSQL server cannot be asked whether it has written the changes, so this is unknown. A context that saves again first "
                + "finds it out, and writes no change twice. Look at the objects before you repeat a batch. The reason: \(reason)")
    }

    /// One round trip for new objects, two with changed or deleted objects. The notification is sent in the same message, but in a transaction of its own:
    /// transactions that notify wait for each other when they commit.
    private func run(_ statements: SaveStatements, _ token: UUID, _ layout: StoreLayout, _ deadline: Deadline) throws {
        try pool.withConnection(until: deadline) { connection in
            if !statements.locks.isEmpty {
                let beginning = [Statement("BEGIN"), pool.options.lockLimit]
                let locked = try connection.execute(all: beginning + statements.locks.map(\.statement))
                let conflict = try statements.conflict(Array(locked.dropFirst(beginning.count))) { keys in
                    try StoreReader(layout, connection).rows(of: keys)
                }
                if let conflict { throw conflict }
            }
            try commit(layout, connection) { send in
                if statements.locks.isEmpty { try send(Statement("BEGIN")) }
                try send(statements.record(token, source: source, lockMilliseconds: pool.options.lockMilliseconds))
                for reference in statements.references { try send(reference) }
                try statements.forEachWrite(send)
                try send(Statement("COMMIT"))
            }
        }
    }

    private func commit(_ layout: StoreLayout, _ connection: Connection, _ makeStatements: Connection.StatementMaker) throws {
        guard pool.options.pollInterval == nil else { return try connection.execute(makeStatements) }
        let notifies = throttle.begin()
        do { try connection.execute(then: notifies ? [layout.notification(source)] : [], makeStatements) } catch {
            if notifies { throttle.withdraw() }
            throw error
        }
        guard !notifies, throttle.committed() else { return }
        // The save is committed. After an error here, other processes read it at their next read without a notification.
        do { try connection.send(trailing: [layout.notification(source)]) } catch { throttle.withdraw() }
    }

    private func existing(_ keys: [CustomStoreKey], _ layout: StoreLayout) throws -> [CustomStoreRow] {
        try lending { try StoreReader(layout, $0).rows(of: keys) }
    }

    public func wasSaved(_ token: UUID) throws -> Bool {
        let layout = try layout
        return try translated { try lendingToWrite(until: pool.options.deadline) { try isSaved(token, layout, $0) } }
    }

    /// True if the transaction with a token was committed. Otherwise it never will be: the token is used here, and the primary key waits for
    /// a transaction that has used it and is not complete.
    ///
    /// The row that this call inserts has no changes, unlike that of a save. The call can therefore be repeated if its own answer is lost. It waits for the
    /// other transaction as long as for any lock.
    func isSaved(_ token: UUID, _ layout: StoreLayout, _ connection: Connection) throws -> Bool {
        let found = try connection.execute(
            Statement(
                """
                INSERT INTO \(layout.saves) AS s (token, source) SELECT $1::uuid, $2::uuid FROM set_config('lock_timeout', $3::text, true) \
                ON CONFLICT (token) DO UPDATE SET token = excluded.token RETURNING s.changed IS NOT NULL
                """, [token.uuidString, source.uuidString, String(pool.options.lockMilliseconds)]))
        return found.value == "t"
    }

    /// The rows that have unique values of a save.
    private func conflict(with changes: CustomStoreChanges, _ error: PostgresError, _ deadline: Deadline) throws -> any Error {
        let layout = try layout
        let rows = try lending { try UniqueHolders(changes, layout, $0).rows() }
        if !rows.isEmpty { return CustomStoreConflict(rows: rows) }
        // The model does not have the unique index, or the conflict was resolved meanwhile, or the rows exchange values in an order that the server refuses.
        return refusal(of: changes, error, layout, deadline) ?? error.error
    }

    /// The error of a save that violates a constraint which the model does not have; nil if its objects cannot be found.
    private func refusal(of changes: CustomStoreChanges, _ error: PostgresError, _ layout: StoreLayout, _ deadline: Deadline) -> (any Error)? {
        // An error of the search must not replace that of the save.
        try? pool.withConnection(until: deadline) { try ConstraintViolation(error, changes, layout, $0).refusal() }
    }
}

extension StoreLayout {
    /// Notifies other processes of a save. It does not wait for the disk of the server: a notification need not survive a crash.
    func notification(_ source: UUID?) -> Statement {
        // Without a source, this process reads the rows too.
        Statement("SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)", [channel, source?.uuidString ?? ""])
    }
}
#endif
