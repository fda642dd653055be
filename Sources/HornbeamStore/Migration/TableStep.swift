internal import HornbeamEngine
internal import HornbeamModel

/// The migration of the table of one concrete entity of the new version.
struct TableStep {
    enum Way: String, Equatable {
        /// The old version has no table for the entity.
        case create
        /// The table does not change.
        case keep
        /// The layout of the table changes; no row is written.
        case alter
        /// Default values replace nulls in place, as in a batch update; the layout may change too.
        case fill
        /// All rows are written to a new table.
        case rewrite
    }

    let entity: EntityDescription
    /// The source entity; nil when there is none, or when it is abstract.
    let oldEntity: EntityDescription?
    var stored: Catalogue.StoredEntity
    var way: Way
    var columns: [ColumnStep]
    /// The layout of the table in the new version.
    var layout: ColumnLayout
    var rowCount: Int
    /// The reasons for rewriting the rows, or for writing default values.
    var reasons: [String] = []
    /// The default values of `fill`.
    var fills: [ColumnFill] = []
    /// True when the layout of the table changes and its rows do not.
    var changesLayout = false

    var isRewritten: Bool { way == .rewrite }
}

/// The null cells of a column, and the cell that replaces them.
struct ColumnFill {
    /// The column's position in the old layout.
    let column: Int
    let cell: [UInt8]
    let rows: RowSelection
}

/// The source of the cells of one column of the new version.
struct ColumnStep {
    enum Source {
        /// A column of the old table.
        case column(Catalogue.StoredProperty, PropertyDescription)
        /// The default value, or null.
        case fill
        /// The object that has the row's object as a member.
        case inverse(PropertyDescription)
        /// A conversion, or an expression of the old object.
        case computed(PropertyMapping.Source)
    }

    enum Conversion {
        case none
        /// Null becomes the default value.
        case fillNull
        case composite(CompositeMatch)
        /// References to objects of other entities than these become null.
        case keepReferences(to: Set<UInt32>)
    }

    let stored: Catalogue.StoredProperty
    let property: PropertyDescription
    var source: Source
    var conversion = Conversion.none

    /// True when the cells of the old table can be used unchanged in the new one.
    func isUnchanged(asNumber number: Int) -> Bool {
        guard case .column(let column, _) = source, case .none = conversion else { return false }
        return column.number == number
    }
}

extension MigrationDraft {
    /// The maximum size of fill values in a row. Above it, the rows are rewritten.
    private static let fillBytesMax = 512

    mutating func planTables() throws(EngineError) {
        for entity in new.entities where !entity.isAbstract { tables.append(try tableStep(entity)) }
        for (position, step) in tables.enumerated() where step.isRewritten {
            let number = takeNumber()
            guard let place = catalogue.entities.firstIndex(where: { $0.name == step.entity.name }) else { continue }
            catalogue.entities[place].table = number
            tables[position].stored = catalogue.entities[place]
        }
    }

    private mutating func tableStep(_ entity: EntityDescription) throws(EngineError) -> TableStep {
        let stored = catalogue.entity(named: entity.name)!
        let before = predecessor(of: entity).flatMap { $0.isAbstract ? nil : $0 }
        var step = TableStep(
            entity: entity, oldEntity: before, stored: stored, way: .create, columns: [], layout: catalogue.layout(of: entity.name), rowCount: 0)
        guard let before, let rows = try oldRows(before) else { return step }
        step.rowCount = rows.count
        for column in catalogue.columns(of: entity.name) {
            guard let property = entity.propertiesByName[column.name] else { continue }
            step.columns.append(try columnStep(column, property, entity, before, rows, &step.reasons))
        }
        let layout = layout(of: step, over: rows)
        if layout.columns.reduce(0, { $0 + ($1.fill?.count ?? 0) }) > Self.fillBytesMax {
            step.reasons.append("default values are long")
        }
        let rewrites = !step.reasons.isEmpty && rows.count > 0
        if rewrites { step.fills = try fillsInPlace(step, rows) ?? [] }
        if rewrites, step.fills.isEmpty {
            step.way = .rewrite
            return step
        }
        step.changesLayout = layout.columns != rows.layout.columns
        step.layout = step.changesLayout ? layout : rows.layout
        step.way = rewrites ? .fill : step.changesLayout ? .alter : .keep
        return step
    }

    private func columnStep(
        _ column: Catalogue.StoredProperty, _ property: PropertyDescription, _ entity: EntityDescription,
        _ before: EntityDescription, _ rows: TableView, _ reasons: inout [String]
    ) throws(EngineError) -> ColumnStep {
        var step = ColumnStep(stored: column, property: property, source: .fill)
        if let source = columnSource(property, entity, before) {
            step.source = source
            if case .inverse = source { reasons.append("“\(property.name)” is filled from its inverse") }
            if case .computed(let computed) = source { reasons.append("“\(property.name)” is \(computed.verb)") }
        }
        guard case .column(let oldColumn, let oldProperty) = step.source else {
            if rows.hiddenColumns.contains(ColumnID(UInt32(column.number))) { reasons.append("“\(property.name)” would read the cells of a removed column") }
            return step
        }
        step.conversion = try conversion(from: oldProperty, oldColumn, to: property, rows)
        switch step.conversion {
        case .none: break
        case .fillNull: reasons.append("“\(property.name)” is null in some rows, which get the default value")
        case .composite: reasons.append("elements of “\(property.name)” are renamed or added")
        case .keepReferences: reasons.append("“\(property.name)” refers to objects of entities that it no longer allows")
        }
        if oldColumn.number != column.number { reasons.append("“\(property.name)” moves to another column") }
        return step
    }

    private func columnSource(
        _ property: PropertyDescription, _ entity: EntityDescription, _ before: EntityDescription
    ) -> ColumnStep.Source? {
        switch source(of: property, in: entity) {
        case .property:
            guard let old = sourceProperty(of: property, in: entity), let column = oldColumn(old, of: before) else { return nil }
            return .column(column, old)
        case .inverse:
            guard let inverse = property.inverse, let other = sources(of: inverse).first?.property else { return nil }
            if let own = other.inverse, own.isToOne, let column = oldColumn(own, of: before) { return .column(column, own) }
            return .inverse(other)
        case let source? where source.isComputed && property.isAttribute: return .computed(source)
        default: return nil
        }
    }

    private func conversion(
        from old: PropertyDescription, _ column: Catalogue.StoredProperty, to property: PropertyDescription, _ rows: TableView
    ) throws(EngineError) -> ColumnStep.Conversion {
        if property.isRelationship { return try referenceConversion(old, column, property, rows) }
        if property.attributeType == .composite {
            let match = CompositeMatch(from: old, to: property)
            if match.changesValues { return .composite(match) }
        }
        guard !property.isOptional, old.isOptional, !property.defaultValue.isNull else { return .none }
        let hasNull = try rows.hasNull(inColumn: ColumnID(UInt32(column.number)))
        return hasNull ? .fillNull : .none
    }

    /// References to objects of entities that are no longer a possible destination become null, even if such an object is deleted. Other
    /// references do not change.
    private func referenceConversion(
        _ old: PropertyDescription, _ column: Catalogue.StoredProperty, _ property: PropertyDescription, _ rows: TableView
    ) throws(EngineError) -> ColumnStep.Conversion {
        let allowed = Set((property.destinationEntity?.concreteDescendants ?? []).map { number(of: $0) })
        let before = (old.destinationEntity?.concreteDescendants ?? []).map { oldNumber(of: $0) }
        if before.allSatisfy(allowed.contains) { return .none }
        guard let number = column.entityColumn else { return .keepReferences(to: allowed) }
        let leads = try rows.hasReference(inColumn: ColumnID(UInt32(column.number)), ColumnID(UInt32(number)), outside: allowed)
        return leads ? .keepReferences(to: allowed) : .none
    }

    /// The layout over unchanged rows: older columns keep their fill values, new columns return their default value.
    private func layout(of step: TableStep, over rows: TableView) -> ColumnLayout {
        var layout = catalogue.layout(of: step.entity.name)
        // The engine refuses a version that is not higher, as after the largest one.
        layout.version = rows.layout.version &+ 1
        for position in layout.columns.indices {
            let id = layout.columns[position].id
            if let known = rows.layout.columns.first(where: { $0.id == id }) {
                layout.columns[position].fill = known.fill
            } else {
                layout.columns[position].fill = fill(of: id, step)
            }
        }
        return layout
    }

    private func fill(of id: ColumnID, _ step: TableStep) -> [UInt8]? {
        for column in step.columns {
            if Int(id.rawValue) == column.stored.number {
                guard source(of: column.property, in: step.entity)?.usesDefaultValue == true else { return nil }
                return column.property.migratedDefaultValue.cellBytes(column.stored.type)
            }
            // A to-one with one possible destination has no entity column. The new entity column returns the number of that destination.
            if Int(id.rawValue) == column.stored.entityColumn, case .column(_, let old) = column.source,
                let only = old.destinationEntity?.concreteDescendants.first
            {
                return unsafe withUnsafeBytes(of: oldNumber(of: only)) { unsafe [UInt8]($0) }
            }
        }
        return nil
    }
}

extension PropertyMapping.Source {
    fileprivate var verb: String {
        if case .converted = self { "converted" } else { "computed" }
    }
}

extension TableView {
    /// True when a row names an object of another entity than these. Reads the two columns.
    fileprivate func hasReference(
        inColumn id: ColumnID, _ entityID: ColumnID, outside allowed: Set<UInt32>
    ) throws(EngineError) -> Bool {
        guard let column = layout.columns.firstIndex(where: { $0.id == id }),
            let entity = layout.columns.firstIndex(where: { $0.id == entityID })
        else { return false }
        var found = false
        try forEachLeaf { (leaf) throws(EngineError) -> Bool in
            for slot in 0 ..< leaf.count where !leaf.row(slot).isNull(column) {
                found = !allowed.contains(leaf.row(slot).load(entity, as: UInt32.self))
                if found { return false }
            }
            return true
        }
        return found
    }

    /// True when a row is null in a column. Reads the bitmaps of that column.
    fileprivate func hasNull(inColumn id: ColumnID) throws(EngineError) -> Bool {
        guard let column = layout.columns.firstIndex(where: { $0.id == id }) else { return false }
        var found = false
        try forEachLeaf { (leaf) throws(EngineError) -> Bool in
            for slot in 0 ..< leaf.count where leaf.row(slot).isNull(column) {
                found = true
                return false
            }
            return true
        }
        return found
    }
}
