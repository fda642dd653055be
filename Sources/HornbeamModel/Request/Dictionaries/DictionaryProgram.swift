/// A compiled fetch of dictionaries: the values read from each object (inputs), the inputs that form groups, the aggregates over a
/// group (totals), and the formulas of the columns.
///
/// A function such as `max:(pages)` is a total if each object has a single value for it. Over a to-many it is a value of the object. A
/// fetch with totals and without groups returns one dictionary.
package struct DictionaryProgram: Sendable {
    package typealias Node = FetchExpression.Node

    /// The columns' names, in the order of the request.
    package let names: [String]
    /// The places of the columns in `names`.
    package let places: [String: Int]
    /// The values that are read from each object.
    package let inputs: [Node]
    /// The inputs by which objects are grouped.
    package private(set) var grouping: [Int]
    package let totals: [Total]
    /// False when each object becomes one dictionary: column i is input i.
    package private(set) var isGrouped: Bool
    /// True when equal dictionaries are returned only once.
    package private(set) var isDistinct: Bool
    let columns: [Column]
    let having: FetchPredicate?
    private(set) var sorts: [(sort: FetchSort, formula: Formula)]
    let window: FetchWindow

    /// An aggregate function over one input in a group.
    package struct Total: Hashable, Sendable {
        package let function: PredicateFunction
        package let input: Int
        /// True when equal values are added only once: `count:(distinct:(name))`.
        package let isDistinct: Bool
    }

    struct Column: Sendable {
        let name: String
        let formula: Formula
        let type: AttributeType?
    }

    /// The formula of a column.
    enum Formula: Sendable {
        case input(Int)
        case total(Int)
        /// An expression with inputs and totals as variables.
        case computed(FetchExpression)
    }

    /// - Throws: `HornbeamError` with code `predicateInvalid` when a column has several values in a group.
    package init(_ request: FetchDescription, for entity: EntityDescription) throws {
        var compiler = DictionaryCompiler(request, entity)
        let wanted = request.propertiesToFetch.isEmpty
            ? entity.attributes.filter { !$0.isTransient }.map { FetchColumn.property($0.name) } : request.propertiesToFetch
        names = wanted.map(\.name)
        // Validation refuses equal names.
        places = Dictionary(zip(names, names.indices)) { first, _ in first }
        isDistinct = request.returnsDistinctResults
        window = request.window
        isGrouped = try !request.propertiesToGroupBy.isEmpty || wanted.contains { try compiler.containsTotal($0) }
        if isGrouped {
            grouping = try request.propertiesToGroupBy.map { try compiler.grouping($0) }
            let columns = try wanted.map { try compiler.groupedColumn($0) }
            self.columns = columns
            having = try request.havingPredicate.map { try compiler.having($0) }
            sorts = try request.sortDescriptors.map { try compiler.groupedSort($0, columns) }
        } else {
            grouping = []
            let columns = wanted.map { compiler.plainColumn($0) }
            self.columns = columns
            having = nil
            // If one criterion is a computed column, the dictionaries are sorted. Otherwise the fetch of the objects sorts.
            let late = request.sortDescriptors.contains { compiler.isComputed($0) }
            sorts = try late ? request.sortDescriptors.map { try compiler.plainSort($0, columns) } : []
        }
        inputs = compiler.inputs
        totals = compiler.totals
    }

    /// True if the result is one dictionary with the totals of all objects, without a having predicate and a window.
    package var hasOnlyTotals: Bool { isGrouped && grouping.isEmpty && having == nil && window.isWhole }

    /// True if values of columns are converted to the columns' types.
    package var convertsColumns: Bool { columns.contains { $0.type != nil } }

    /// True when order and window apply to the dictionaries, so that the fetch of the objects cannot apply them.
    package var windowAppliesToDictionaries: Bool { isGrouped || isDistinct || orderAppliesToDictionaries }

    /// For distinct dictionaries in the order of their objects: a program that groups the objects by all columns. It has the same result, and equal
    /// objects are found without a dictionary for each.
    package var groupingDistinct: DictionaryProgram? {
        guard isDistinct, !isGrouped, sorts.isEmpty, inputs.count == columns.count else { return nil }
        var program = self
        program.isGrouped = true
        // The groups differ from each other. The conversion of a column to its type can make them equal.
        program.isDistinct = columns.contains { $0.type != nil }
        program.grouping = Array(inputs.indices)
        return program
    }

    /// Like `groupingDistinct`, for objects in an order. Nil if the order reads other values than those of the columns.
    package func groupingDistinct(sortedBy order: [FetchSort]) -> DictionaryProgram? {
        guard var program = groupingDistinct else { return nil }
        for sort in order {
            guard let column = columns.first(where: { $0.name == sort.keyPath }) else { return nil }
            program.sorts.append((sort, column.formula))
        }
        return program
    }

    /// The input by which the dictionaries are sorted, and the number of the first objects that contain the window; nil if several criteria sort them,
    /// or equal ones are removed, or the window is large.
    package var onlySort: (input: Node, isAscending: Bool, end: Int)? {
        guard !isGrouped, !isDistinct, sorts.count == 1, case .input(let input) = sorts[0].formula, let end = window.end, end <= 1000 else { return nil }
        return (inputs[input], sorts[0].sort.isAscending, end)
    }

    /// The range of the window in `count` results.
    package func windowRange(of count: Int) -> Range<Int> { window.range(of: count) }

    /// True when the order uses computed values, so that the fetch of the objects needs no order.
    package var orderAppliesToDictionaries: Bool { !sorts.isEmpty }
}

/// Compiles columns, and collects the distinct inputs and totals.
private struct DictionaryCompiler {
    typealias Node = FetchExpression.Node

    let request: FetchDescription
    let entity: EntityDescription
    private(set) var inputs: [Node] = []
    private(set) var totals: [DictionaryProgram.Total] = []

    init(_ request: FetchDescription, _ entity: EntityDescription) {
        self.request = request
        self.entity = entity
    }

    mutating func input(_ node: Node) -> Int {
        if let place = inputs.firstIndex(of: node) { return place }
        inputs.append(node)
        return inputs.count - 1
    }

    private mutating func total(_ function: PredicateFunction, _ node: Node) -> Int {
        let values = Self.distinctValues(node) ?? node
        // Objects differ from each other.
        let isDistinct = values != node && values != .evaluatedObject
        let total = DictionaryProgram.Total(function: function, input: input(values), isDistinct: isDistinct)
        if let place = totals.firstIndex(of: total) { return place }
        totals.append(total)
        return totals.count - 1
    }

    // MARK: Plain dictionaries

    mutating func plainColumn(_ column: FetchColumn) -> DictionaryProgram.Column {
        switch column {
        case .property(let path):
            // Equal columns have separate inputs, so that column i is input i.
            inputs.append(.path(path))
            return DictionaryProgram.Column(name: path, formula: .input(inputs.count - 1), type: nil)
        case .expression(let name, let expression, let type):
            inputs.append(expression.node)
            return DictionaryProgram.Column(name: name, formula: .input(inputs.count - 1), type: type)
        }
    }

    func isComputed(_ sort: FetchSort) -> Bool {
        request.propertiesToFetch.contains { column in
            if case .expression(sort.keyPath, _, _) = column { true } else { false }
        }
    }

    mutating func plainSort(
        _ sort: FetchSort, _ columns: [DictionaryProgram.Column]
    ) throws -> (sort: FetchSort, formula: DictionaryProgram.Formula) {
        if let column = columns.first(where: { $0.name == sort.keyPath }) { return (sort, column.formula) }
        try sort.validated(for: entity)
        return (sort, .input(input(.path(sort.keyPath))))
    }

    // MARK: Groups

    /// The input by which objects are grouped: a key path, or the expression of a column.
    mutating func grouping(_ name: String) throws -> Int {
        guard let expression = request.groupedExpression(name, entity) else { return input(.path(name)) }
        if try containsTotal(expression) {
            throw HornbeamError(
                .predicateInvalid, "The column “\(name)” is a total of each group, so the objects of “\(entity.name)” cannot be grouped by it.",
                entity: entity.name, key: name)
        }
        return input(expression.node)
    }

    func containsTotal(_ column: FetchColumn) throws -> Bool {
        guard case .expression(_, let expression, _) = column else { return false }
        return try containsTotal(expression)
    }

    private func containsTotal(_ expression: FetchExpression) throws -> Bool {
        var found = false
        try expression.node.forEachExpression { found = try found || isTotal($0) }
        return found
    }

    /// True for an aggregate function over one value of each object.
    private func isTotal(_ node: Node) throws -> Bool {
        guard case .function(let function, let arguments) = node, function.isTotal, arguments.count == 1 else { return false }
        let values = Self.distinctValues(arguments[0]) ?? arguments[0]
        switch values {
        case .constant, .aggregate, .variable: return false
        default: break
        }
        if case .collection = try FetchExpression(node: values).validatedType(for: entity) { return false }
        return true
    }

    /// The argument of `distinct:`; nil for other expressions.
    private static func distinctValues(_ node: Node) -> Node? {
        guard case .function(.distinct, let arguments) = node else { return nil }
        return arguments[0]
    }

    mutating func groupedColumn(_ column: FetchColumn) throws -> DictionaryProgram.Column {
        switch column {
        case .property(let path):
            return DictionaryProgram.Column(name: path, formula: try formula(.path(path), path), type: nil)
        case .expression(let name, let expression, let type):
            return DictionaryProgram.Column(name: name, formula: try formula(expression.node, name), type: type)
        }
    }

    mutating func groupedSort(
        _ sort: FetchSort, _ columns: [DictionaryProgram.Column]
    ) throws -> (sort: FetchSort, formula: DictionaryProgram.Formula) {
        if let column = columns.first(where: { $0.name == sort.keyPath }) { return (sort, column.formula) }
        return (sort, try formula(.path(sort.keyPath), sort.keyPath))
    }

    mutating func having(_ predicate: FetchPredicate) throws -> FetchPredicate {
        var named = predicate.node.mapExpressions { node in
            guard case .keyPath(.evaluatedObject, let steps) = node, steps.count == 1, case .name(let name) = steps[0],
                entity.propertiesByName[name] == nil
            else { return node }
            for case .expression(name, let expression, _) in request.propertiesToFetch { return expression.node }
            return node
        }
        try FetchPredicate(node: named).check("The having predicate", for: entity)
        named = try named.mapExpressions { try withoutTotals($0) }
        named = named.mapExpressions { expressionVariable($0) }
        named = try named.mapExpressions { try withoutGroupedPaths($0, "the having predicate") }
        return FetchPredicate(node: named)
    }

    private mutating func formula(_ node: Node, _ name: String) throws -> DictionaryProgram.Formula {
        var node = try node.mapExpressions { try withoutTotals($0) }
        node = node.mapExpressions { expressionVariable($0) }
        node = try node.mapExpressions { try withoutGroupedPaths($0, "“\(name)”") }
        guard case .variable(let variable) = node else { return .computed(FetchExpression(node: node)) }
        return DictionaryProgram.formula(of: variable) ?? .computed(FetchExpression(node: node))
    }

    private mutating func withoutTotals(_ node: Node) throws -> Node {
        guard try isTotal(node), case .function(let function, let arguments) = node else { return node }
        return .variable(DictionaryProgram.name(ofTotal: total(function, arguments[0])))
    }

    /// The variable of a computed column by which objects are grouped; the same expression for all others.
    private mutating func expressionVariable(_ node: Node) -> Node {
        let isGrouped = request.propertiesToGroupBy.contains { request.groupedExpression($0, entity)?.node == node }
        return isGrouped ? .variable(DictionaryProgram.name(ofInput: input(node))) : node
    }

    private mutating func withoutGroupedPaths(_ node: Node, _ what: String) throws -> Node {
        switch node {
        case .keyPath(.evaluatedObject, let steps):
            let names = steps.compactMap { step in if case .name(let name) = step { name } else { nil } }
            let path = names.joined(separator: ".")
            guard names.count == steps.count, request.propertiesToGroupBy.contains(path) else { throw manyValued(path, what) }
            return .variable(DictionaryProgram.name(ofInput: input(node)))
        case .evaluatedObject, .anyKey, .subquery, .fetch: throw manyValued(FetchExpression(node: node).description, what)
        default: return node
        }
    }

    private func manyValued(_ path: String, _ what: String) -> HornbeamError {
        HornbeamError(
            .predicateInvalid,
            "“\(path)” in \(what) has many values in a group of objects of “\(entity.name)”: group by it too, or use a function such as "
                + "max:(\(path)).",
            entity: entity.name, key: path)
    }
}

extension DictionaryProgram {
    static func name(ofInput input: Int) -> String { "i\(input)" }
    static func name(ofTotal total: Int) -> String { "t\(total)" }

    fileprivate static func formula(of variable: String) -> Formula? {
        guard let number = Int(variable.dropFirst()) else { return nil }
        return variable.hasPrefix("t") ? .total(number) : (variable.hasPrefix("i") ? .input(number) : nil)
    }
}

extension PredicateFunction {
    /// True for aggregate functions.
    var isTotal: Bool {
        switch self {
        case .sum, .count, .min, .max, .average, .median, .mode, .standardDeviation: true
        default: false
        }
    }
}
