#if Postgres
internal import HornbeamModel

/// The indexes on the server for the fetch indexes of a model. Each has its definition as its comment, by which it is found again.
///
/// An index with an expression, with an element of a composite or a derived attribute, or with a condition that is not a condition of one row in SQL is
/// left out. Indexes change no result.
struct FetchIndexes {
    private struct Index {
        let name: String
        let definition: String

        var comment: String { "hornbeam: " + definition }
    }

    private let layout: StoreLayout
    private let indexes: [Index]

    init(_ layout: StoreLayout) throws {
        self.layout = layout
        indexes = try layout.model.entities.flatMap { entity in
            try entity.fetchIndexes.filter { $0.entity === entity }.compactMap { index in
                try Self.definition(index, layout).map { Index(name: SQLText.shortened("\(entity.name).\(index.name).index"), definition: $0) }
            }
        }
    }

    /// Creates the indexes that are missing.
    ///
    /// - Parameter dropsOthers: True to drop those that the model does not have.
    func create(dropsOthers: Bool, _ connection: Connection) throws {
        let found = try connection.execute(
            Statement(
                """
                SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c WHERE c.relkind = 'i' \
                AND c.relnamespace = to_regnamespace($1) AND obj_description(c.oid, 'pg_class') LIKE 'hornbeam: %'
                """, [layout.schema]))
        var present: [String: String] = [:]
        for row in 0 ..< found.rowCount { if let name = found[row, 0] { present[name] = found[row, 1].map(ColumnValue.unescaped) } }
        let wanted = Dictionary(indexes.map { ($0.name, $0.comment) }) { first, _ in first }
        for (name, comment) in present.sorted(by: { $0.key < $1.key }) where wanted[name] != comment && (dropsOthers || wanted[name] != nil) {
            try connection.execute(Statement("DROP INDEX \(layout.schema).\(SQLText.name(name))"))
            present[name] = nil
        }
        try connection.execute(all: creation(except: Set(present.keys)))
    }

    /// The statements that create the indexes.
    func creation(except present: Set<String> = []) -> [Statement] {
        var known = present
        return indexes.filter { known.insert($0.name).inserted }.flatMap { index in
            let name = "\(layout.schema).\(SQLText.name(index.name))"
            return [
                Statement("CREATE INDEX \(SQLText.name(index.name)) ON \(index.definition)"),
                Statement("COMMENT ON INDEX \(name) IS \(SQLText.literal(ColumnValue.escaped(index.comment)))"),
            ]
        }
    }

    /// `"schema"."Author" ("name" ASC NULLS FIRST) WHERE …`; nil for an index that is left out.
    private static func definition(_ index: FetchIndex, _ layout: StoreLayout) throws -> String? {
        guard !index.entity.concreteDescendants.isEmpty, index.elements.count == index.definition.elements.count, !index.elements.isEmpty,
            index.definition.elements.allSatisfy({ $0.kind == .binary && !$0.isExpression })
        else { return nil }
        let table = try layout.table(of: index.entity.name)
        if table.isMapped { return nil }
        var elements: [String] = []
        for element in index.elements {
            guard element.path.compositeSteps.isEmpty, let column = table.column(element.property.name, of: index.entity.name) else { return nil }
            let value = column.property.attributeType == .string
                ? FoldingFunction(element.collation).map { "\($0.name(in: layout.schema))(\(column.name))" } ?? column.name : column.name
            elements.append("\(value) \(element.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST")")
        }
        let sql = "\(table.name) (\(elements.joined(separator: ", ")))"
        guard let format = index.definition.partialPredicate else { return sql }
        var translator = ConditionTranslator(layout, index.entity, row: table.ownName)
        translator.parameters.areLiterals = true
        guard let condition = translator.exact(StoreCondition(try FetchPredicate(format: format))), translator.scopes.count == 1, translator.joins.isEmpty
        else { return nil }
        return "\(sql) WHERE \(condition)"
    }
}

extension FoldingFunction {
    /// Nil for a comparison by bytes.
    init?(_ collation: IndexCollation) {
        switch collation {
        case .binary: return nil
        case .caseInsensitive: self = .c
        case .diacriticInsensitive: self = .d
        case .caseAndDiacriticInsensitive: self = .cd
        }
    }
}
#endif
