internal import HornbeamEngine
internal import HornbeamModel

/// An expression compiled for the rows of one table: it reads cells and counts members directly. The evaluator computes the expressions that have no
/// such form.
indirect enum ColumnProgram {
    case object
    case constant(PropertyValue)
    case cell(StoredColumn)
    /// To-ones, then a column of the last object. `cache` is the index of the cache of its values.
    case path(StoredColumn, rest: [PropertyDescription], cache: Int)
    /// The length of a text in UTF-16 code units, counted in the bytes of the cell.
    case length(StoredColumn)
    case memberCount(MemberCounter)
    /// The total of an attribute of the members of an unordered to-many.
    case memberTotal(FetchExpression.CollectionOperator, PropertyDescription, LinkIndex)
    case function(PredicateFunction, [ColumnProgram])
    case general(FetchExpression)

    /// Calls `body` with the program and each program inside it.
    func forEachPart(_ body: (ColumnProgram) -> Void) {
        body(self)
        if case .function(_, let arguments) = self { for argument in arguments { argument.forEachPart(body) } }
    }
}

/// The programs for the rows of one table.
struct ColumnPrograms {
    let programs: [ColumnProgram]
    /// The paths in the programs. Their values are read for many rows at once.
    private(set) var paths: [(column: StoredColumn, rest: [PropertyDescription], cache: Int)] = []
    private(set) var counters: [MemberCounter] = []

    init(_ programs: [ColumnProgram]) {
        self.programs = programs
        for program in programs {
            program.forEachPart { part in
                switch part {
                case .path(let column, let rest, let cache): paths.append((column, rest, cache))
                case .memberCount(let counter): counters.append(counter)
                default: break
                }
            }
        }
    }
}

/// Compiles expressions for the rows of one table.
struct ColumnProgramCompiler {
    typealias Node = FetchExpression.Node

    let reader: RowReader
    let table: EntityTable
    /// The index of the cache for the values of a path.
    let cache: (Node) -> Int

    func compile(_ node: Node) -> ColumnProgram { direct(node) ?? .general(FetchExpression(node: node)) }

    /// Nil when the evaluator must compute the expression.
    private func direct(_ node: Node) -> ColumnProgram? {
        switch node {
        case .evaluatedObject: return .object
        case .constant(.array), .constant(.set), .constant(.dictionary): return nil
        case .constant(let value): return .constant(value)
        case .keyPath(.evaluatedObject, let steps):
            if steps.count == 2, steps[1] == .collection(.count) { return memberCount(.keyPath(.evaluatedObject, [steps[0]])) }
            if steps.count == 3, case .collection(let operation) = steps[1], case .name(let name) = steps[2] {
                return memberTotal(operation, name, of: steps[0])
            }
            return path(node, steps)
        case .keyPath(let collection, [.collection(.count)]): return memberCount(collection)
        case .function(.count, let arguments): return arguments.count == 1 ? memberCount(arguments[0]) : nil
        // The result is a collection, or so long that the evaluator must limit it.
        case .function(.distinct, _), .function(.mode, _), .function(.replace, _): return nil
        case .function(let function, let arguments): return call(function, arguments)
        default: return nil
        }
    }

    private func path(_ node: Node, _ steps: [FetchExpression.Step]) -> ColumnProgram? {
        var path: [PropertyDescription] = []
        var entity: EntityDescription? = table.entity
        for step in steps {
            guard case .name(let name) = step, let property = entity?.propertiesByName[name], property.cellType != nil,
                !property.isTransient
            else { return nil }
            path.append(property)
            entity = property.destinationEntity
        }
        guard let first = path.first, let column = table.columns[first.index] else { return nil }
        return path.count == 1 ? .cell(column) : .path(column, rest: Array(path.dropFirst()), cache: cache(node))
    }

    // MARK: Functions

    private func call(_ function: PredicateFunction, _ arguments: [Node]) -> ColumnProgram? {
        var programs: [ColumnProgram] = []
        for argument in arguments {
            guard let program = direct(argument), isScalar(program) else { return nil }
            programs.append(program)
        }
        if function == .length, case .cell(let column) = programs[0], column.type == .string { return .length(column) }
        return .function(function, programs)
    }

    /// False for objects and composites, which the evaluator does not pass to functions as plain values.
    private func isScalar(_ program: ColumnProgram) -> Bool {
        switch program {
        case .constant, .length, .memberCount, .memberTotal, .function: true
        case .cell(let column): column.type != .reference && column.type != .composite
        case .path(_, let rest, _): rest[rest.count - 1].cellType != .reference && rest[rest.count - 1].cellType != .composite
        case .object, .general: false
        }
    }

    // MARK: Members

    /// The number of elements of `toMany` or `SUBQUERY(toMany, $x, predicate of $x alone)`.
    private func memberCount(_ collection: Node) -> ColumnProgram? {
        switch collection {
        case .keyPath(.evaluatedObject, let steps):
            guard let relationship = toMany(steps) else { return nil }
            return .memberCount(MemberCounter(reader.schema.link(relationship), filters: nil))
        case .subquery(.keyPath(.evaluatedObject, let steps), let variable, let predicate):
            guard let relationship = toMany(steps),
                let filters = FilterCompiler(reader, table).filters(ofSubquery: predicate, variable, relationship)
            else { return nil }
            return .memberCount(MemberCounter(reader.schema.link(relationship), filters: filters))
        default: return nil
        }
    }

    /// `toMany.@sum.attribute` and the like. Ordered members would be read in another order than that of their rows.
    private func memberTotal(_ operation: FetchExpression.CollectionOperator, _ name: String, of step: FetchExpression.Step) -> ColumnProgram? {
        guard [.sum, .avg, .min, .max].contains(operation), let relationship = toMany([step]), !relationship.isOrdered,
            let attribute = relationship.destinationEntity?.propertiesByName[name], let type = attribute.cellType, type != .reference,
            type != .composite, !attribute.isTransient
        else { return nil }
        return .memberTotal(operation, attribute, reader.schema.link(relationship))
    }

    private func toMany(_ steps: [FetchExpression.Step]) -> PropertyDescription? {
        guard steps.count == 1, case .name(let name) = steps[0], let property = table.entity.propertiesByName[name],
            property.isStoredToMany
        else { return nil }
        return property
    }
}

extension CellType {
    /// The width of cells of at most eight bytes that are equal if and only if their values are equal; nil for other types. Doubles have two zeros, so they are
    /// excluded.
    var cellWidth: Int? {
        switch self {
        case .int16: 2
        case .int32: 4
        case .int64, .reference: 8
        case .bool: 0
        default: nil
        }
    }
}

extension StoredColumn {
    /// The cell of a column with a `cellWidth`.
    func bits(in row: RowView, _ width: Int) -> UInt64 {
        if width == 0 { return row.bit(column) ? 1 : 0 }
        // An object key is unique over all entities, so it identifies the destination without the entity number.
        return type == .reference ? row.load(column, as: UInt64.self) : UInt64(bitPattern: int(in: row))
    }
}
