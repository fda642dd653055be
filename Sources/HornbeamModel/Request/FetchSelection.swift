/// A fetch of columns whose results are tuples.
///
/// ```swift
/// let rows = try context.fetch(Book.select(\.author.name, \.count, \.year.max).grouped(by: \.author.name).having { $0.count > 3 })
/// for (author, count, last) in rows { … }
/// ```
/// Makes no objects. A missing value in a non-optional column becomes the type's unset value: zero or the empty text. A value that the type of its column
/// cannot hold, such as a sum of small integers, is an error of the fetch.
public struct FetchSelection<Object: PredicateSubject, each Column: AttributeValue>: Sendable {
    /// The settings without the types of the columns.
    public var untyped: FetchDescription
    /// The name of each column in the dictionaries of the untyped request.
    package let names: [String]

    package init(entityName: String, _ paths: repeat KeyPath<FetchGroup<Object>, FetchPath<each Column>>) {
        untyped = FetchDescription(entityName: entityName)
        untyped.resultType = .dictionaries
        var names: [String] = []
        for path in repeat each paths {
            let column = FetchColumn(FetchGroup<Object>()[keyPath: path].operand.node)
            names.append(column.name)
            if !untyped.propertiesToFetch.contains(column) { untyped.propertiesToFetch.append(column) }
        }
        self.names = names
    }
}

extension FetchSelection {
    /// The selection with an additional condition on the objects.
    public func `where`(_ condition: (FetchPath<Object>) -> FetchPredicate) -> Self { `where`(condition(.root)) }

    /// The selection with an additional condition on the objects.
    public func `where`(_ predicate: FetchPredicate) -> Self {
        changing { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
    }

    /// The selection with one row per combination of values of these paths (FET-14).
    public func grouped<each Key>(by paths: repeat KeyPath<FetchPath<Object>, FetchPath<each Key>>) -> Self {
        changing { description in for path in repeat each paths { description.propertiesToGroupBy.append(path.format()) } }
    }

    /// The selection with an additional condition on the groups, over grouped values and totals (FET-15).
    public func having(_ condition: (FetchGroup<Object>) -> FetchPredicate) -> Self {
        let predicate = condition(FetchGroup<Object>())
        return changing { $0.havingPredicate = $0.havingPredicate.map { $0 && predicate } ?? predicate }
    }

    /// The selection with an additional sort criterion at the end: one of its columns, or a path of the objects.
    public func sorted<Value>(
        by path: KeyPath<FetchGroup<Object>, FetchPath<Value>>, _ direction: FetchSort.Direction = .ascending,
        comparison: FetchSort.Comparison = .standard
    ) -> Self {
        let column = FetchColumn(FetchGroup<Object>()[keyPath: path].operand.node)
        return changing {
            $0.sortDescriptors.append(FetchSort(column.name, ascending: direction == .ascending, comparison: comparison))
        }
    }

    /// The selection that returns equal rows only once (FET-13).
    public func distinct() -> Self { changing { $0.returnsDistinctResults = true } }

    /// The selection with at most `count` rows; 0 for all.
    public func limit(_ count: Int) -> Self { changing { $0.fetchLimit = count } }

    /// The selection without its first `count` rows.
    public func offset(_ count: Int) -> Self { changing { $0.fetchOffset = count } }

    /// The tuple of one dictionary of the untyped request.
    ///
    /// - Parameters:
    ///   - values: The values of the dictionary.
    ///   - places: For each column the place of its value; nil for a column that the untyped request lacks.
    /// - Throws: `typeMismatch` for a value that the type of its column cannot hold.
    package func row(_ values: [PropertyValue], at places: [Int?]) throws -> (repeat each Column) {
        var column = 0
        func next() -> (value: PropertyValue, name: String) {
            defer { column += 1 }
            return (places[column].map { values[$0] } ?? .null, names[column])
        }
        return (repeat try (each Column).read(next()))
    }

    private func changing(_ change: (inout FetchDescription) -> Void) -> Self {
        var selection = self
        change(&selection.untyped)
        return selection
    }
}

/// The possible columns of a selection: properties of the objects, totals of a group, and the number of its objects.
@dynamicMemberLookup
public struct FetchGroup<Object: PredicateSubject> {
    package init() {}

    /// The number of objects in the group; without groups, of all objects. A property named `count` is written `[\.count]`.
    public var count: FetchPath<Int> { FetchPath<Int>(.function(.count, [.evaluatedObject])) }

    /// A property of the objects, or of objects at the end of to-one relationships.
    public subscript<Value>(dynamicMember path: KeyPath<FetchPath<Object>, FetchPath<Value>>) -> FetchPath<Value> {
        FetchPath<Object>.root[keyPath: path]
    }

    /// A property whose name is also a member of `FetchGroup`: `$0[\.count]`.
    public subscript<Value>(_ path: KeyPath<FetchPath<Object>, FetchPath<Value>>) -> FetchPath<Value> {
        FetchPath<Object>.root[keyPath: path]
    }
}

// MARK: Totals over the objects of a group

extension FetchPath where Value: AttributeValue {
    /// The sum over the objects of a group; 0 when no object has a value. A sum that the type of the property cannot hold is an error of the fetch.
    public var sum: FetchPath { FetchPath(.function(.sum, [operand.node])) }

    /// The number of different values over the objects of a group; nil is not counted.
    public var distinctCount: FetchPath<Int> { FetchPath<Int>(.function(.count, [.function(.distinct, [operand.node])])) }

    /// The average over the objects of a group; nil when no object has a value.
    public var average: FetchPath<Double?> { FetchPath<Double?>(.function(.average, [operand.node])) }

    /// The least value of a group; nil when no object has a value.
    public var min: FetchPath<Value?> { FetchPath<Value?>(.function(.min, [operand.node])) }

    /// The greatest value of a group; nil when no object has a value.
    public var max: FetchPath<Value?> { FetchPath<Value?>(.function(.max, [operand.node])) }
}

extension FetchPath where Value: AttributeValue & ExpressibleByNilLiteral {
    /// The least value of a group; nil when no object has a value.
    public var min: FetchPath { FetchPath(.function(.min, [operand.node])) }

    /// The greatest value of a group; nil when no object has a value.
    public var max: FetchPath { FetchPath(.function(.max, [operand.node])) }
}

extension FetchColumn {
    /// The column of a path: a property, or a computed value named by its format.
    fileprivate init(_ node: FetchExpression.Node) {
        let expression = FetchExpression(node: node)
        if let path = expression.plainPath {
            self = .property(path)
        } else {
            self = .expression(name: expression.expressionFormat, expression, type: nil)
        }
    }
}

extension AttributeValue {
    /// The value of a column, as a getter of the object would return it: a missing value becomes the unset value.
    fileprivate static func read(_ column: (value: PropertyValue, name: String)) throws -> Self {
        let (value, name) = column
        if let decoded = Self(propertyValue: value) { return decoded }
        guard !value.isNull else { return unsetValue }
        throw HornbeamError(
            .typeMismatch,
            "The column “\(name)” has a value that \(Self.self) cannot hold. Fetch dictionaries with selecting(_:), which hold every value.",
            key: name, value: value)
    }
}
