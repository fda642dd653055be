internal import HornbeamEngine
internal import HornbeamModel

/// Makes rows of the new version from rows of the old one. Used by one thread.
final class RowRewrite {
    /// The source of one cell of the new row, determined once for all rows.
    private enum Source {
        case column(StoredColumn, ColumnStep.Conversion)
        case value(PropertyValue)
        case inverse(PropertyDescription)
        case computed(PropertyMapping.Source)
    }

    let build: MigrationBuild
    let step: TableStep
    let old: EntityTable
    private let cells: [(source: Source, target: StoredColumn)]
    private var violations: [HornbeamError] = []

    init(_ step: TableStep, _ build: MigrationBuild, from old: EntityTable) {
        self.step = step
        self.build = build
        self.old = old
        let new = build.schema.table(step.entity)
        cells = step.columns.map { column in
            let source: Source =
                switch column.source {
                case .column(_, let property): .column(old.column(property), column.conversion)
                case .fill:
                    .value(
                        build.draft.source(of: column.property, in: step.entity)?.usesDefaultValue == true ? column.property.migratedDefaultValue : .null)
                case .inverse(let relationship): .inverse(relationship)
                case .computed(let source): .computed(source)
                }
            return (source, new.column(column.property))
        }
    }

    /// Records data that breaks the new model.
    func recordViolation(
        _ code: HornbeamError.Code, _ text: String, _ key: String, _ objects: [ObjectReference], value: PropertyValue? = nil
    ) {
        guard violations.count < MigrationBuild.violationsMax else { return }
        violations.append(build.violation(code, text, step.entity, key, objects, value: value))
    }

    /// Returns the recorded violations and removes them.
    func takeViolations() -> [HornbeamError] {
        defer { violations = [] }
        return violations
    }

    func fill(_ buffer: RowBuffer, from row: RowView, key: UInt64) throws {
        buffer.set(EntityTable.versionColumn, row.load(EntityTable.versionColumn, as: UInt32.self))
        for (source, target) in cells {
            switch source {
            case .column(let column, let conversion): try copy(column, to: target, conversion, buffer, row)
            case .value(let value): try write(value, to: target, buffer)
            case .inverse(let relationship): try writeOwner(of: key, through: relationship, target.property, to: target, buffer)
            case .computed(let source): try write(computed(source, target.property, row, key), to: target, buffer)
            }
        }
    }

    private func write(_ value: PropertyValue, to target: StoredColumn, _ buffer: RowBuffer) throws {
        try target.write(value, to: buffer, schema: build.schema, origin: build.reader.origins)
    }

    private func copy(
        _ source: StoredColumn, to target: StoredColumn, _ conversion: ColumnStep.Conversion, _ buffer: RowBuffer, _ row: RowView
    ) throws {
        if row.isNull(source.column) {
            if case .fillNull = conversion { return try write(target.property.migratedDefaultValue, to: target, buffer) }
            return target.writeNull(to: buffer)
        }
        if source.type == .reference { return copyReference(source, to: target, conversion, buffer, row) }
        if case .composite(let match) = conversion,
            case .dictionary(let parts) = try source.value(in: row, schema: build.oldReader.schema, origin: build.oldReader.origins)
        {
            return try write(.dictionary(match.converted(parts)), to: target, buffer)
        }
        try buffer.copy(row, source.column, to: target.column, source.type.columnKind)
    }

    private func copyReference(
        _ source: StoredColumn, to target: StoredColumn, _ conversion: ColumnStep.Conversion, _ buffer: RowBuffer, _ row: RowView
    ) {
        let number = build.number(ofReference: source, in: row)
        if case .keepReferences(let allowed) = conversion, !allowed.contains(number) { return target.writeNull(to: buffer) }
        buffer.set(target.column, row.load(source.column, as: UInt64.self))
        if target.entityColumn >= 0 { buffer.set(target.entityColumn, number) }
    }

    /// Fills a to-one from the inverse to-many of the old version: the only owner of the object, or null.
    private func writeOwner(
        of key: UInt64, through relationship: PropertyDescription, _ property: PropertyDescription, to target: StoredColumn,
        _ buffer: RowBuffer
    ) throws {
        let owners = try build.owners(of: key, through: relationship)
        if owners.count > 1 {
            recordViolation(
                .migrationConstraintViolation,
                "\(owners.count) objects have this one among their “\(relationship.name)”, and “\(property.name)” holds only one.",
                property.name, [ObjectReference(step.entity, key)])
        }
        guard let owner = owners.first else { return target.writeNull(to: buffer) }
        buffer.set(target.column, owner.key)
        if target.entityColumn >= 0 { buffer.set(target.entityColumn, owner.number) }
    }
}

extension PropertyDescription {
    /// The default value in migrated rows; null if it does not fit the attribute.
    var migratedDefaultValue: PropertyValue { (try? coerced(defaultValue)) ?? .null }
}

extension MigrationBuild {
    /// The entity number of the object that a to-one of the old version names.
    func number(ofReference column: StoredColumn, in row: RowView) -> UInt32 {
        if column.entityColumn >= 0 { return row.load(column.entityColumn, as: UInt32.self) }
        return column.property.destinationEntity?.concreteDescendants.first.map { draft.oldNumber(of: $0) } ?? 0
    }

    /// The owners of an object in a to-many of the old version.
    func owners(of member: UInt64, through relationship: PropertyDescription) throws(EngineError) -> [(key: UInt64, number: UInt32)] {
        guard let backward = oldReader.schema.link(relationship).backward else { return [] }
        var found: [(key: UInt64, number: UInt32)] = []
        var keys: [UInt64] = []
        try draft.snapshot.index(backward.members).forEachSuffix(in: MemberTrees.range(ofOwner: member)) { key in
            keys.append(key)
            return true
        }
        for key in keys {
            guard let number = try oldNumber(ofKey: key, below: relationship.entity) else { continue }
            found.append((key, number))
        }
        return found
    }

    /// The entity number of an object of the old version; nil for a deleted object.
    func oldNumber(ofKey key: UInt64, below entity: EntityDescription) throws(EngineError) -> UInt32? {
        for candidate in entity.concreteDescendants {
            if let rows = try draft.oldRows(candidate), try rows.contains(key) { return draft.oldNumber(of: candidate) }
        }
        return nil
    }
}

extension RowBuffer {
    /// Copies one cell of a stored row to another column.
    func copy(_ row: RowView, _ source: Int, to target: Int, _ kind: ColumnKind) throws(EngineError) {
        switch kind {
        case .bit: setBit(target, row.bit(source))
        case .fixed1: set(target, row.load(source, as: UInt8.self))
        case .fixed2: set(target, row.load(source, as: UInt16.self))
        case .fixed4: set(target, row.load(source, as: UInt32.self))
        case .fixed8: set(target, row.load(source, as: UInt64.self))
        case .fixed16: set(target, row.load(source, as: SIMD2<UInt64>.self))
        case .bytes: unsafe try row.withBytes(source) { unsafe setBytes(target, $0) }
        }
    }
}
