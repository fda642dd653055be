internal import HornbeamModel

/// A row whose values have the types of the model.
struct ConvertedRow {
    /// The object with the key of the row; nil when the mapping has no key, or the row has none.
    var entry: ImportEntry?
    var predicate: FetchPredicate?
    /// By the position in `ImportTarget.properties`; nil leaves the property unchanged.
    var values: [PropertyValue?] = []
    /// The related rows, by the position in `ImportTarget.links`; nil leaves the relationship unchanged.
    var links: [[ConvertedRow]?] = []
}

/// The entity and the properties that a mapping sets.
final class ImportTarget {
    typealias Link = (property: PropertyDescription, members: ImportMembers, target: ImportTarget)

    let entity: EntityDescription
    let properties: [PropertyDescription]
    let insertsMissing: Bool
    /// The objects by their keys, shared by all mappings with the same key; nil for a mapping without a key.
    let lookup: ImportLookup?
    /// The relationships, with the targets of their mappings.
    let links: [Link]

    init(
        _ entity: EntityDescription, _ properties: [PropertyDescription], _ insertsMissing: Bool, _ lookup: ImportLookup?, _ links: [Link]
    ) {
        self.entity = entity
        self.properties = properties
        self.insertsMissing = insertsMissing
        self.lookup = lookup
        self.links = links
    }
}

/// A relationship of a compiled mapping.
struct CompiledImportLink<Row> {
    let target: ImportTarget
    /// The related rows; empty for a null, nil when the row lacks the name.
    let rows: (Row) throws -> [ConvertedRow]?
    /// True if the row has a null, and no empty list. Asked when there are no related rows.
    var isNull: (Row) throws -> Bool = { _ in true }
}

/// The source of an attribute, with the attribute.
struct CompiledImportField<Row> {
    let source: ImportField<Row>
    let property: PropertyDescription
    let null: ImportNullRule
    /// The `Coded` type of the attribute, which must be able to decode a value.
    let coded: (any AttributeValue.Type)?

    /// - Throws: `typeMismatch` for JSON that is no value of the attribute's type.
    func check(_ value: PropertyValue) throws {
        guard let coded, !value.isNull, coded.init(propertyValue: value) == nil else { return }
        throw HornbeamError(
            .typeMismatch, "The value of \(property) is no \(coded.codedTypeName).", entity: property.entity.name, key: property.name, value: value)
    }
}

extension AttributeValue {
    /// The type in messages: `Address` for `Coded<Address>?`.
    fileprivate static var codedTypeName: String {
        var name = "\(Self.self)"
        for (prefix, suffix) in [("Optional<", ">"), ("Coded<", ">")] where name.hasPrefix(prefix) {
            name = String(name.dropFirst(prefix.count).dropLast(suffix.count))
        }
        return name
    }
}

/// A mapping that is checked against the model.
struct ImportPlan<Row> {
    let target: ImportTarget
    fileprivate let key: ImportField<Row>?
    fileprivate let predicate: (@Sendable (Row) throws -> FetchPredicate)?
    fileprivate let fields: [CompiledImportField<Row>]
    fileprivate let links: [(link: CompiledImportLink<Row>, null: ImportNullRule)]

    /// The row with the types of the model.
    ///
    /// - Throws: The errors of conversions, with the entity and the property.
    func convert(_ row: Row) throws -> ConvertedRow {
        var converted = ConvertedRow()
        if let key, let lookup = target.lookup { converted.entry = try value(of: key, in: row, lookup.key).flatMap(lookup.entry) }
        converted.predicate = try predicate?(row)
        converted.values.reserveCapacity(fields.count)
        for field in fields {
            guard let value = try value(of: field.source, in: row, field.property) else {
                converted.values.append(nil)
                continue
            }
            if field.coded != nil { try field.check(value) }
            converted.values.append(value.isNull && field.null == .keep ? nil : value)
        }
        converted.links.reserveCapacity(links.count)
        for (link, null) in links {
            let rows = try link.rows(row)
            let isKept = try rows?.isEmpty == true && null == .keep && link.isNull(row)
            converted.links.append(isKept ? nil : rows)
        }
        return converted
    }

    /// A row that has only its key.
    func convert(key value: PropertyValue) throws -> ConvertedRow {
        guard let key, let lookup = target.lookup else {
            throw HornbeamError(
                .typeMismatch, "The row names a related \(target.entity.name) by \(value.kindName), and its mapping has no key.",
                entity: target.entity.name)
        }
        var row = ConvertedRow()
        row.entry = lookup.entry(try convert(value, key.format, lookup.key))
        row.values = Array(repeating: nil, count: fields.count)
        row.links = Array(repeating: nil, count: links.count)
        return row
    }

    private func value(of source: ImportField<Row>, in row: Row, _ property: PropertyDescription) throws -> PropertyValue? {
        guard let value = try source.read(row) else { return nil }
        return value.isNull ? .null : try convert(value, source.format, property)
    }

    private func convert(_ value: PropertyValue, _ format: ImportFormat, _ property: PropertyDescription) throws -> PropertyValue {
        let type = property.attributeType
        if format.convert == nil, type.holds(value) { return value }
        do {
            return try property.coerced(format.converted(value, type))
        } catch var error as HornbeamError {
            if error.entity == nil { (error.entity, error.key) = (target.entity.name, property.name) }
            throw error
        }
    }
}

/// Checks mappings against the model of a context. The mappings of one import share the lookups of objects.
final class ImportCompiler {
    private let context: ManagedObjectContext
    private(set) var lookups: [ImportLookup] = []

    init(_ context: ManagedObjectContext) { self.context = context }

    /// - Throws: `unknownEntity`, `unknownKey`, `typeMismatch` for a mapping that does not fit the model.
    func plan<Object: ManagedObject, Row>(_ mapping: ImportMapping<Object, Row>) throws -> ImportPlan<Row> {
        let entity = try entity(of: Object.self)
        var key: ImportField<Row>?
        var predicate: (@Sendable (Row) throws -> FetchPredicate)?
        switch mapping.identity {
        case .none: break
        case .key(let field): key = field
        case .predicate(let condition): predicate = condition
        }
        let keyProperty = try key.map { try attribute($0.property, of: entity) }
        let fields = try fields(of: mapping, entity, key?.property)
        let links = try mapping.links.map { link in
            (link: try link.compile(self), property: try relationship(link.property, of: entity), source: link)
        }
        for (link, property, _) in links where !link.target.entity.isKind(of: property.destinationEntity ?? link.target.entity) {
            throw HornbeamError(
                .typeMismatch, "The mapping of \(link.target.entity.name) does not fit \(property).", entity: entity.name, key: property.name)
        }
        let target = ImportTarget(
            entity, fields.map(\.property), mapping.insertsMissing, keyProperty.map { lookup(Object.self, entity, $0) },
            links.map { ($0.property, $0.source.members, $0.link.target) })
        return ImportPlan(
            target: target, key: key, predicate: predicate, fields: fields,
            links: links.map { ($0.link, $0.source.null ?? mapping.nullRule) })
    }

    private func fields<Object: ManagedObject, Row>(
        of mapping: ImportMapping<Object, Row>, _ entity: EntityDescription, _ key: String?
    ) throws -> [CompiledImportField<Row>] {
        var sources = mapping.fields
        if let named = mapping.named {
            let stated = Set(sources.map(\.property))
            for property in entity.attributes where !stated.contains(property.name) && !property.isDerived && !property.isTransient {
                sources.append(named(property.name))
            }
        }
        return try sources.filter { $0.property != key && !mapping.ignored.contains($0.property) }.map {
            let property = try attribute($0.property, of: entity)
            return CompiledImportField(
                source: $0, property: property, null: $0.null ?? mapping.nullRule, coded: property.attributeType == .transformable ? coded(property) : nil)
        }
    }

    /// The `Coded` type that the class of an entity declares for an attribute; nil for other types.
    private func coded(_ property: PropertyDescription) -> (any AttributeValue.Type)? {
        let tokens = context.persistentStoreCoordinator.binding.objectClass(of: property.entity).tokens
        guard let token = tokens.first(where: { $0.name == property.name }) as? any AttributeToken, token.valueType is any CodedType.Type else {
            return nil
        }
        return token.valueType
    }

    private func entity(of type: ManagedObject.Type) throws -> EntityDescription {
        let coordinator = context.persistentStoreCoordinator
        if let entity = coordinator.binding.entity(of: type) { return entity }
        return try coordinator.managedObjectModel.entity(named: type.entityName)
    }

    private func attribute(_ name: String, of entity: EntityDescription) throws -> PropertyDescription {
        let property = try entity.property(named: name)
        guard property.isAttribute, !property.isDerived else {
            throw HornbeamError(
                .typeMismatch, "\(property) cannot be set by a field of an import.", entity: entity.name, key: name)
        }
        return property
    }

    private func relationship(_ name: String, of entity: EntityDescription) throws -> PropertyDescription {
        let property = try entity.property(named: name)
        guard property.isRelationship else {
            throw HornbeamError(.typeMismatch, "\(property) is no relationship.", entity: entity.name, key: name)
        }
        return property
    }

    /// One lookup for each entity and key, so that a row finds the objects that another relationship inserted.
    private func lookup(_ type: ManagedObject.Type, _ entity: EntityDescription, _ key: PropertyDescription) -> ImportLookup {
        if let known = lookups.first(where: { $0.key == key && $0.entity === entity }) { return known }
        let made = ImportLookup(context, type, entity, key)
        lookups.append(made)
        return made
    }
}
