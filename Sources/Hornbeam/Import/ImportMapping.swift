public import HornbeamModel

/// A row of an import with values by name, as of a JSON object.
public typealias ImportRow = [String: PropertyValue]

/// Describes how the rows of an import become objects of a class: the key that identifies an object, and a source for each property (SEED-5, SEED-6).
///
/// ```swift
/// let authors = ImportMapping(Author.self)
/// let books = ImportMapping(Book.self)
///     .field(Book.year, from: "published.year")
///     .field(Book.added, from: "added", as: .date("dd.MM.yyyy"), null: .keep)
///     .object(Book.author, from: "author", authors)
///     .ignoring(Book.note)
/// ```
/// Rows with names set the attributes of the same names; the mapping states the differences, and the relationships. A name that the row
/// lacks leaves the property unchanged. Rows of a type of the app, `Decodable` for example, set the fields that the mapping states.
public struct ImportMapping<Object: ManagedObject, Row>: Sendable {
    var identity: Identity
    var fields: [ImportField<Row>] = []
    var links: [ImportLink<Row>] = []
    /// The properties that rows do not set.
    var ignored: Set<String> = []
    var nullRule = ImportNullRule.clear
    var insertsMissing = true
    /// The source of an attribute that no field names; nil for rows without names.
    let named: (@Sendable (String) -> ImportField<Row>)?

    /// How the object of a row is found.
    enum Identity: Sendable {
        case none
        case key(ImportField<Row>)
        case predicate(@Sendable (Row) throws -> FetchPredicate)
    }

    init(_ identity: Identity, named: (@Sendable (String) -> ImportField<Row>)?) {
        self.identity = identity
        self.named = named
    }

    /// The mapping in which null values of rows keep or clear properties; the default clears. A field can differ.
    public func nulls(_ rule: ImportNullRule) -> Self { changing { $0.nullRule = rule } }

    /// The mapping that refuses a row whose object does not exist, instead of inserting it.
    public func withoutInserting() -> Self { changing { $0.insertsMissing = false } }

    /// The mapping that never sets these attributes.
    public func ignoring(_ tokens: any PropertyToken...) -> Self { changing { $0.ignored.formUnion(tokens.map(\.name)) } }

    func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    func adding(_ field: ImportField<Row>) -> Self {
        changing { mapping in
            mapping.fields.removeAll { $0.property == field.property }
            mapping.fields.append(field)
        }
    }
}

/// The effect of a null in a row (SEED-6).
public enum ImportNullRule: Hashable, Sendable {
    /// The property keeps its value.
    case keep
    /// The property loses its value. A required property refuses the row.
    case clear
}

/// The effect of a list in a row on a to-many relationship.
public enum ImportMembers: Hashable, Sendable {
    /// The objects of the list become the members.
    case replace
    /// The objects of the list become additional members.
    case add
}

/// The source of one attribute.
struct ImportField<Row>: Sendable {
    let property: String
    /// The value in a row; nil when the row lacks it.
    let read: @Sendable (Row) throws -> PropertyValue?
    var format = ImportFormat.automatic
    var null: ImportNullRule?
}

/// The source of one relationship.
struct ImportLink<Row>: Sendable {
    let property: String
    let members: ImportMembers
    let null: ImportNullRule?
    /// Compiles the mapping of the related rows.
    let compile: @Sendable (ImportCompiler) throws -> CompiledImportLink<Row>
}

// MARK: Rows with names

extension ImportMapping where Row == ImportRow {
    /// A mapping that finds objects by an attribute.
    ///
    /// - Parameters:
    ///   - type: The class of the objects.
    ///   - key: The attribute that identifies an object. It should be unique by the model.
    ///   - name: The name of its value in the rows; the attribute's name when nil. `book.id` is a path into nested objects.
    ///   - format: The conversion of the value.
    public init<Key: AttributeValue>(
        _ type: Object.Type, key: Attribute<Key>, from name: String? = nil, as format: ImportFormat = .automatic
    ) {
        self.init(.key(Self.source(key.name, name ?? key.name, format, nil)), named: Self.sourceOfName)
    }

    /// A mapping that finds objects by the unique key of their class.
    public init(_ type: Object.Type, from name: String? = nil, as format: ImportFormat = .automatic) where Object: UniquelyKeyed {
        self.init(type, key: Object.uniqueKey, from: name, as: format)
    }

    /// A mapping that finds the object of a row by a predicate: one fetch for each row (SEED-5). Of several objects, the first is changed.
    public init(_ type: Object.Type, matching predicate: @escaping @Sendable (ImportRow) throws -> FetchPredicate) {
        self.init(.predicate(predicate), named: Self.sourceOfName)
    }

    /// A mapping that inserts an object for each row.
    public init(inserting type: Object.Type) { self.init(.none, named: Self.sourceOfName) }

    /// The mapping with a source for an attribute.
    ///
    /// - Parameters:
    ///   - attribute: The attribute to set.
    ///   - name: The name of its value in the rows, or a path into nested objects: `published.year`.
    ///   - format: The conversion of the value.
    ///   - null: The effect of a null; that of the mapping when nil.
    public func field<Value: AttributeValue>(
        _ attribute: Attribute<Value>, from name: String? = nil, as format: ImportFormat = .automatic, null: ImportNullRule? = nil
    ) -> Self {
        adding(Self.source(attribute.name, name ?? attribute.name, format, null))
    }

    /// The mapping with a nested object for a to-one relationship. A value that is no object is the key of the related object.
    public func object<Destination: ManagedObject>(
        _ relationship: ToOne<Destination>, from name: String? = nil, _ mapping: ImportMapping<Destination, ImportRow>,
        null: ImportNullRule? = nil
    ) -> Self {
        linking(relationship.name, name, mapping, .replace, null)
    }

    /// The mapping with a nested list for a to-many relationship. A value that is no object is the key of a related object.
    public func objects<Destination: ManagedObject>(
        _ relationship: ToMany<Destination>, from name: String? = nil, _ mapping: ImportMapping<Destination, ImportRow>,
        members: ImportMembers = .replace, null: ImportNullRule? = nil
    ) -> Self {
        linking(relationship.name, name, mapping, members, null)
    }

    /// The mapping with a nested list for an ordered relationship.
    public func objects<Destination: ManagedObject>(
        _ relationship: OrderedToMany<Destination>, from name: String? = nil, _ mapping: ImportMapping<Destination, ImportRow>,
        members: ImportMembers = .replace, null: ImportNullRule? = nil
    ) -> Self {
        linking(relationship.name, name, mapping, members, null)
    }

    private func linking<Destination: ManagedObject>(
        _ property: String, _ name: String?, _ mapping: ImportMapping<Destination, ImportRow>, _ members: ImportMembers, _ null: ImportNullRule?
    ) -> Self {
        let source = Self.source(property, name ?? property, .automatic, null)
        let link = ImportLink<ImportRow>(property: property, members: members, null: null) { compiler in
            let plan = try compiler.plan(mapping)
            return CompiledImportLink(
                target: plan.target, rows: { row in try source.read(row).map { try plan.convert(related: $0) } },
                isNull: { row in try source.read(row)?.isNull == true })
        }
        return changing { $0.links.append(link) }
    }

    private static func sourceOfName(_ name: String) -> ImportField<ImportRow> { source(name, name, .automatic, nil) }

    private static func source(
        _ property: String, _ path: String, _ format: ImportFormat, _ null: ImportNullRule?
    ) -> ImportField<ImportRow> {
        let steps = path.split(separator: ".").map(String.init)
        guard steps.count > 1 else { return ImportField(property: property, read: { $0[path] }, format: format, null: null) }
        return ImportField(
            property: property, read: { row in
                // A row may have the path itself as a name.
                if let value = row[path] { return value }
                var row = row
                for step in steps.dropLast() {
                    guard case .dictionary(let inner)? = row[step] else { return row[step]?.isNull == true ? .null : nil }
                    row = inner
                }
                return row[steps[steps.count - 1]]
            }, format: format, null: null)
    }
}

extension ImportPlan where Row == ImportRow {
    /// The rows of a related value: an object, a key, or a list of these; empty for null.
    func convert(related value: PropertyValue) throws -> [ConvertedRow] {
        switch value {
        case .null: []
        case .dictionary(let row): [try convert(row)]
        case .array(let list): try list.flatMap { try convert(related: $0) }
        default: [try convert(key: value)]
        }
    }
}

// MARK: Rows of a type

extension ImportMapping {
    /// A mapping of rows of a type that finds objects by an attribute: `ImportMapping(Book.self, key: Book.isbn, from: \BookRow.isbn)`.
    public init<Key: AttributeValue>(_ type: Object.Type, key: Attribute<Key>, from path: any KeyPath<Row, Key> & Sendable) {
        self.init(.key(ImportField(property: key.name, read: { $0[keyPath: path].propertyValue })), named: nil)
    }

    /// A mapping of rows of a type that finds the object of a row by a predicate: one fetch for each row.
    public init(_ type: Object.Type, rows: Row.Type, matching predicate: @escaping @Sendable (Row) throws -> FetchPredicate) {
        self.init(.predicate(predicate), named: nil)
    }

    /// A mapping of rows of a type that inserts an object for each row.
    public init(inserting type: Object.Type, rows: Row.Type) { self.init(.none, named: nil) }

    /// The mapping with a source for an attribute: `.field(Book.title, from: \.title)`.
    public func field<Value: AttributeValue>(
        _ attribute: Attribute<Value>, from path: any KeyPath<Row, Value> & Sendable, null: ImportNullRule? = nil
    ) -> Self {
        adding(ImportField(property: attribute.name, read: { $0[keyPath: path].propertyValue }, null: null))
    }

    /// The mapping with an optional source for a required attribute.
    @_disfavoredOverload
    public func field<Value: AttributeValue>(
        _ attribute: Attribute<Value>, from path: any KeyPath<Row, Value?> & Sendable, null: ImportNullRule? = nil
    ) -> Self {
        adding(ImportField(property: attribute.name, read: { $0[keyPath: path]?.propertyValue ?? .null }, null: null))
    }

    /// The mapping with a computed value for an attribute; nil leaves it unchanged.
    public func field<Value: AttributeValue>(
        _ attribute: Attribute<Value>, value: @escaping @Sendable (Row) throws -> Value?
    ) -> Self {
        adding(ImportField(property: attribute.name, read: { try value($0)?.propertyValue }))
    }

    /// The mapping with a nested row for a to-one relationship.
    public func object<Destination: ManagedObject, Nested>(
        _ relationship: ToOne<Destination>, from path: any KeyPath<Row, Nested?> & Sendable, _ mapping: ImportMapping<Destination, Nested>,
        null: ImportNullRule? = nil
    ) -> Self {
        linking(relationship.name, mapping, .replace, null) { row in row[keyPath: path].map { [$0] } ?? [] }
    }

    /// The mapping with a nested row for a to-one relationship.
    public func object<Destination: ManagedObject, Nested>(
        _ relationship: ToOne<Destination>, from path: any KeyPath<Row, Nested> & Sendable, _ mapping: ImportMapping<Destination, Nested>
    ) -> Self {
        linking(relationship.name, mapping, .replace, nil) { row in [row[keyPath: path]] }
    }

    /// The mapping with a nested list for a to-many relationship.
    public func objects<Destination: ManagedObject, Nested>(
        _ relationship: ToMany<Destination>, from path: any KeyPath<Row, [Nested]> & Sendable, _ mapping: ImportMapping<Destination, Nested>,
        members: ImportMembers = .replace
    ) -> Self {
        linking(relationship.name, mapping, members, nil, emptyIsNull: false) { row in row[keyPath: path] }
    }

    /// The mapping with a nested list for an ordered relationship.
    public func objects<Destination: ManagedObject, Nested>(
        _ relationship: OrderedToMany<Destination>, from path: any KeyPath<Row, [Nested]> & Sendable,
        _ mapping: ImportMapping<Destination, Nested>, members: ImportMembers = .replace
    ) -> Self {
        linking(relationship.name, mapping, members, nil, emptyIsNull: false) { row in row[keyPath: path] }
    }

    private func linking<Destination: ManagedObject, Nested>(
        _ property: String, _ mapping: ImportMapping<Destination, Nested>, _ members: ImportMembers, _ null: ImportNullRule?,
        emptyIsNull: Bool = true, _ rows: @escaping @Sendable (Row) -> [Nested]
    ) -> Self {
        let link = ImportLink<Row>(property: property, members: members, null: null) { compiler in
            let plan = try compiler.plan(mapping)
            return CompiledImportLink(
                target: plan.target, rows: { row in try rows(row).map { try plan.convert($0) } }, isNull: { _ in emptyIsNull })
        }
        return changing { $0.links.append(link) }
    }
}
