public import HornbeamModel

/// Fetches, counts and deletions by class.
extension ManagedObjectContext {
    /// The objects of a class; the closure sets the condition, the order and the limit (SEED-8).
    ///
    /// ```swift
    /// let recent = try context.fetch(Book.self) { request in
    ///     request = request.where { $0.year > 1990 }.inDefaultOrder().limit(20)
    /// }
    /// ```
    /// - Throws: The errors of `fetch`, and of the closure.
    public func fetch<Object: ManagedObject>(
        _ type: Object.Type, configure: (inout FetchRequest<Object>) throws -> Void = { _ in }
    ) throws -> [Object] {
        var request = FetchRequest<Object>()
        try configure(&request)
        return try fetch(request)
    }

    /// The number of all objects of a class (SEED-9).
    ///
    /// - Throws: The errors of `count`.
    public func count<Object: ManagedObject>(_ type: Object.Type) throws -> Int { try count(FetchRequest<Object>()) }

    /// Deletes the objects that satisfy a condition, like `delete(_:)` (SEED-9).
    ///
    /// - Returns: The number of objects found.
    /// - Throws: The errors of `fetch`.
    @discardableResult
    public func delete<Object: ManagedObject>(
        _ type: Object.Type, where condition: (FetchPath<Object>) -> FetchPredicate
    ) throws -> Int {
        try delete(matching: FetchRequest<Object>().where(condition))
    }

    /// Deletes all objects of a class, like `delete(_:)` (SEED-9).
    ///
    /// - Returns: The number of objects found.
    /// - Throws: The errors of `fetch`.
    @discardableResult
    public func deleteAll<Object: ManagedObject>(_ type: Object.Type) throws -> Int { try delete(matching: FetchRequest<Object>()) }
}

extension FetchRequest where Result: ManagedObject {
    /// The request with the default order of its class as additional sort criteria (FET-3).
    public func inDefaultOrder() -> Self {
        var request = self
        request.sortDescriptors += Result.defaultOrder
        return request
    }
}

extension FetchSort {
    /// A criterion over an attribute of the class: `FetchSort(name)`.
    public init<Value: AttributeValue>(_ attribute: Attribute<Value>, _ direction: Direction = .ascending) {
        self.init(attribute.name, ascending: direction == .ascending)
    }
}
