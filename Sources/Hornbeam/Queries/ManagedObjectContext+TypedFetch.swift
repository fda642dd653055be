public import HornbeamModel

extension PredicateSubject where Self: ManagedObject {
    /// Selects columns to fetch instead of objects: `Book.select(\.author.name, \.count, \.year.max)`.
    ///
    /// With aggregate columns, the result is one row for all objects, or one row per group (`grouped(by:)`).
    public static func select<each Column: AttributeValue>(
        _ columns: repeat KeyPath<FetchGroup<Self>, FetchPath<each Column>>
    ) -> FetchSelection<Self, repeat each Column> {
        FetchSelection(entityName: entityName, repeat each columns)
    }
}

extension ManagedObjectContext {
    /// The rows of a selection, including this context's unsaved changes. Creates no objects (FET-12 to FET-16).
    ///
    /// - Throws: The errors of `fetch` for objects; `predicateInvalid` for a column with several values in a group; `typeMismatch` for a value that the type
    ///   of its column cannot hold.
    public func fetch<Object: ManagedObject, each Column: AttributeValue>(
        _ selection: FetchSelection<Object, repeat each Column>
    ) throws -> [(repeat each Column)] {
        let (rows, places) = try selectedRows(selection)
        return try rows.map { try selection.row($0, at: places) }
    }

    /// The rows of a selection as values by column, and for each column of the tuples its place in a row; nil for a column that the untyped request lacks.
    func selectedRows<Object: ManagedObject, each Column: AttributeValue>(
        _ selection: FetchSelection<Object, repeat each Column>
    ) throws -> (rows: [[PropertyValue]], places: [Int?]) {
        let (rows, places) = try dictionaryRows(selection.untyped.selectingDictionaries)
        return (rows, selection.names.map { places[$0] })
    }

    /// The rows of a selection as values of a type: `context.fetch(selection, as: AuthorRow.init)`.
    ///
    /// - Throws: The errors of the form that returns tuples, and of `make`.
    public func fetch<Object: ManagedObject, each Column: AttributeValue, Row>(
        _ selection: FetchSelection<Object, repeat each Column>, as make: (repeat each Column) throws -> Row
    ) throws -> [Row] {
        let tuples: [(repeat each Column)] = try fetch(selection)
        var rows: [Row] = []
        rows.reserveCapacity(tuples.count)
        for tuple in tuples { rows.append(try make(repeat each tuple)) }
        return rows
    }

    /// The first object that satisfies a condition. Of several, the one with the least ID; nil if there is none.
    ///
    /// - Throws: The errors of `fetch`.
    public func first<Object: ManagedObject>(
        _ type: Object.Type = Object.self, where condition: (FetchPath<Object>) -> FetchPredicate
    ) throws -> Object? {
        try fetch(FetchRequest<Object>().where(condition).limit(1)).first
    }

    /// The number of objects that satisfy a condition.
    ///
    /// - Throws: The errors of `count`.
    public func count<Object: ManagedObject>(
        _ type: Object.Type, where condition: (FetchPath<Object>) -> FetchPredicate
    ) throws -> Int {
        try count(FetchRequest<Object>().where(condition))
    }

    /// True if an object satisfies a condition.
    ///
    /// - Throws: The errors of `fetch`.
    public func exists<Object: ManagedObject>(
        _ type: Object.Type, where condition: (FetchPath<Object>) -> FetchPredicate
    ) throws -> Bool {
        try count(FetchRequest<Object>().where(condition).limit(1)) > 0
    }
}

extension FetchedResultsController {
    /// A controller with sections by a typed path: `sectionedBy: \.author.name`.
    ///
    /// - Throws: The errors of the initialiser with a text path.
    public convenience init<Value>(
        _ request: FetchRequest<Object>, in context: ManagedObjectContext,
        sectionedBy path: KeyPath<FetchPath<Object>, FetchPath<Value>>, cacheName: String? = nil
    ) throws {
        try self.init(request, in: context, sectionedBy: path.format(), cacheName: cacheName)
    }
}
