public import HornbeamModel

extension ManagedObjectContext {
    /// Imports rows: finds the object of each row by the mapping, changes or inserts it, and saves (SEED-5).
    ///
    /// ```swift
    /// let report = try context.importRows(rows, with: ImportMapping(Book.self))
    /// print(report.inserted, report.updated, report.unchanged)
    /// ```
    /// Objects with equal values are not changed: a second import of the same rows writes nothing.
    /// - Throws: `unsupportedRequest` when the context has unsaved changes, unless `saving` is `.byCaller`; the errors of the mapping; the error of the
    ///   first bad row, unless bad rows are skipped; the errors of `save()`; `CancellationError` when the progress or the task was cancelled.
    @discardableResult
    public func importRows<Object: ManagedObject, Row>(
        _ rows: some Sequence<Row>, with mapping: ImportMapping<Object, Row>, options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try importRows(from: ImportSource(rows), with: mapping, options: options)
    }

    /// Imports the rows of a source: of a file, for example.
    ///
    /// - Throws: The errors of the form for sequences, and those of the source.
    @discardableResult
    public func importRows<Object: ManagedObject, Row>(
        from source: ImportSource<Row>, with mapping: ImportMapping<Object, Row>, options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try importRows(source, mapping, options, nil)
    }

    func importRows<Object: ManagedObject, Row>(
        _ source: ImportSource<Row>, _ mapping: ImportMapping<Object, Row>, _ options: ImportOptions, _ owner: ImportOwner?
    ) throws -> ImportReport {
        let (session, plan) = try ImportSession.make(self, mapping, options, owner)
        return try session.run(source, plan)
    }
}

/// Imports with an owner, whose relationship to the imported objects is set.
extension ManagedObject {
    /// Imports rows as members of a to-many relationship of this object, in its context (SEED-7).
    ///
    /// `author.importRows(rows, into: Author.books, with: books)`. A cleaning deletes members only.
    /// - Throws: The errors of `importRows` of a context; `objectNotFound` when this object is detached.
    @discardableResult
    public final func importRows<Object: ManagedObject, Row>(
        _ rows: some Sequence<Row>, into relationship: ToMany<Object>, with mapping: ImportMapping<Object, Row>,
        options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try importOwned(ImportSource(rows), relationship.name, mapping, options)
    }

    /// Imports rows as members of an ordered relationship of this object, in its context (SEED-7). New members come last.
    ///
    /// - Throws: The errors of the form for unordered relationships.
    @discardableResult
    public final func importRows<Object: ManagedObject, Row>(
        _ rows: some Sequence<Row>, into relationship: OrderedToMany<Object>, with mapping: ImportMapping<Object, Row>,
        options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try importOwned(ImportSource(rows), relationship.name, mapping, options)
    }

    /// Imports the rows of a source as members of a to-many relationship of this object, in its context (SEED-7).
    ///
    /// - Throws: The errors of the form for sequences, and those of the source.
    @discardableResult
    public final func importRows<Object: ManagedObject, Row>(
        from source: ImportSource<Row>, into relationship: ToMany<Object>, with mapping: ImportMapping<Object, Row>,
        options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try importOwned(source, relationship.name, mapping, options)
    }

    private func importOwned<Object: ManagedObject, Row>(
        _ source: ImportSource<Row>, _ relationship: String, _ mapping: ImportMapping<Object, Row>, _ options: ImportOptions
    ) throws -> ImportReport {
        guard let context = managedObjectContext else { throw withoutContext() }
        let property = try entity.property(named: relationship)
        return try context.importRows(source, mapping, options, ImportOwner(object: self, property: property))
    }
}
