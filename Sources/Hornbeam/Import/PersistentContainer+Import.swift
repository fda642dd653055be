internal import HornbeamModel

/// Imports on a background thread, with a context of their own.
extension PersistentContainer {
    /// Imports the rows of a source on a background thread (SEED-5).
    ///
    /// ```swift
    /// let report = try await container.importRows(from: .jsonLines(url), with: books, options: ImportOptions(saving: .every(5000)))
    /// ```
    /// - Parameters:
    ///   - source: Made on the background thread.
    ///   - mapping: The mapping of the rows.
    ///   - options: The options, made on the background thread.
    /// - Throws: The errors of `importRows` of a context; `unsupportedRequest` for `saving: .byCaller`, since the context belongs to this call.
    ///   Cancelling the task ends the import with `CancellationError`.
    @discardableResult
    public func importRows<Object: ManagedObject, Row>(
        from source: @autoclosure @escaping @Sendable () throws -> ImportSource<Row>, with mapping: ImportMapping<Object, Row>,
        options: @autoclosure @escaping @Sendable () -> ImportOptions = ImportOptions()
    ) async throws -> ImportReport {
        let isCancelled = Flag()
        return try await withTaskCancellationHandler {
            try await performBackgroundTask { context in
                let options = options()
                try requireSaving(options)
                let source = try source()
                let (session, plan) = try ImportSession.make(context, mapping, options)
                return try session.run(source, plan, isCancelled: isCancelled)
            }
        } onCancel: {
            _ = isCancelled.raise()
        }
    }

    /// Imports the rows of an asynchronous sequence, such as lines of a network connection that the app decodes (SEED-5).
    ///
    /// Rows are written in groups of 500, or of as many as one save has. The rows of a group wait until it is complete or the sequence ends; a
    /// sequence that pauses within a group needs `saving: .every(n)` with a small number. Memory holds the rows since the last save; the sequence
    /// waits while rows are written.
    /// - Throws: The errors of the form above, and of the sequence, which count as an error of the import. `CancellationError` when the task was
    ///   cancelled.
    @discardableResult
    public func importRows<Object: ManagedObject, Row: Sendable, Rows: AsyncSequence & Sendable>(
        from rows: Rows, with mapping: ImportMapping<Object, Row>,
        options: @autoclosure @escaping @Sendable () -> ImportOptions = ImportOptions()
    ) async throws -> ImportReport where Rows.Element == Row {
        let importer = try await StreamImporter(self, mapping, options)
        do {
            let groupSize = importer.groupSize
            var portion: [Row] = []
            for try await row in rows {
                portion.append(row)
                guard portion.count >= groupSize else { continue }
                try await importer.add(portion)
                portion.removeAll(keepingCapacity: true)
            }
            try Task.checkCancellation()
            try await importer.add(portion)
            return try await importer.finish()
        } catch {
            await importer.stop()
            throw error
        }
    }
}

private func requireSaving(_ options: ImportOptions) throws {
    guard options.saving == .byCaller else { return }
    throw HornbeamError(
        .unsupportedRequest,
        "The import has a context of its own, so the caller cannot save it. Import with another value of saving, or call importRows of a context.")
}

/// An import whose rows arrive over time, on a context of its own.
private actor StreamImporter<Row: Sendable> {
    private let executor = ContextExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private let context: ManagedObjectContext
    private var session: ImportSession?
    private let plan: ImportPlan<Row>
    private var count = 0
    /// The number of rows that are sent to the context together.
    let groupSize: Int

    init<Object: ManagedObject>(
        _ container: PersistentContainer, _ mapping: ImportMapping<Object, Row>, _ options: @Sendable () -> ImportOptions
    ) async throws {
        context = container.newContext()
        let options = options()
        try requireSaving(options)
        let (session, plan) = try ImportSession.make(context, mapping, options)
        (self.session, self.plan, groupSize) = (session, plan, min(500, session.saveInterval))
    }

    func add(_ rows: [Row]) throws {
        guard let session else { return }
        for row in rows {
            count += 1
            try session.add(number: count) { try plan.convert(row) }
        }
        try session.note(Int64(count))
    }

    func finish() throws -> ImportReport {
        guard let session else { return ImportReport() }
        return try session.finish()
    }

    /// Discards what is not saved.
    func stop() {
        context.rollback()
        session = nil
    }
}
