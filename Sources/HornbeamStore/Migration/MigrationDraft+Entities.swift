internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The entities and columns of the new version, with the numbers of their sources.
extension MigrationDraft {
    mutating func makeEntities() throws(EngineError) {
        for entity in new.entities {
            let before = predecessor(of: entity).flatMap { old.catalogue.entity(named: $0.name) }
            catalogue.entities.append(
                Catalogue.StoredEntity(
                    number: before?.number ?? takeNumber(), name: entity.name, parent: entity.superentity?.name,
                    isAbstract: entity.isAbstract, columns: [], table: before?.table))
        }
        for (position, entity) in new.entities.enumerated() {
            for property in entity.ownProperties {
                guard let type = property.cellType else { continue }
                catalogue.entities[position].columns.append(try column(of: property, type))
            }
        }
        separateNumbers()
    }

    /// The column of a property. Its number is that of the old column of the same type with the most rows, so that these need no rewrite.
    private mutating func column(of property: PropertyDescription, _ type: CellType) throws(EngineError) -> Catalogue.StoredProperty {
        var best: (column: Catalogue.StoredProperty, rows: Int)?
        for source in sources(of: property) {
            guard let column = oldColumn(source.property, of: source.oldEntity), column.type == type else { continue }
            let rows = try oldRowCount(source.oldEntity)
            if rows > best?.rows ?? -1 { best = (column, rows) }
        }
        var column = Catalogue.StoredProperty(number: best?.column.number ?? takeNumber(), name: property.name, type: type)
        guard type == .reference else { return column }
        column.destination = property.destinationEntity?.name
        column.inverse = property.inverse?.name
        column.entityColumn = property.hasSeveralDestinations ? best?.column.entityColumn ?? takeNumber() : nil
        return column
    }

    /// Assigns a new number to a column whose number is already used in the table.
    private mutating func separateNumbers() {
        for entity in new.entities where !entity.isAbstract {
            var seen: Set<Int> = []
            for column in catalogue.columns(of: entity.name) where !seen.insert(column.number).inserted {
                let property = entity.propertiesByName[column.name]
                guard let position = catalogue.entities.firstIndex(where: { $0.name == property?.entity.name }),
                    let place = catalogue.entities[position].columns.firstIndex(where: { $0.name == column.name })
                else { continue }
                catalogue.entities[position].columns[place].number = takeNumber()
                if column.entityColumn != nil { catalogue.entities[position].columns[place].entityColumn = takeNumber() }
            }
        }
    }
}

extension PropertyValue {
    /// The bytes of the value's cell, for the fill value of a column in the engine; nil for null.
    func cellBytes(_ type: CellType) -> [UInt8]? {
        func raw<T>(_ value: T) -> [UInt8] { unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) } }
        switch (type, self) {
        case (.int16, .int(let number)): return raw(Int16(truncatingIfNeeded: number))
        case (.int32, .int(let number)): return raw(Int32(truncatingIfNeeded: number))
        case (.int64, .int(let number)): return raw(number)
        case (.double, .double(let number)): return raw(number + 0)
        case (.float, .double(let number)): return raw(Float(number) + 0)
        case (.bool, .bool(let flag)): return [flag ? 1 : 0]
        case (.date, .date(let date)): return raw(date.timeIntervalSinceReferenceDate)
        case (.uuid, .uuid(let uuid)): return raw(uuid.uuid)
        case (.string, .string(let text)): return Array(text.utf8)
        case (.uri, .uri(let url)): return Array(url.absoluteString.utf8)
        case (.data, .data(let data)): return [UInt8](data)
        case (.composite, .dictionary(let parts)): return CompositeCode.encode(parts)
        case (.decimal, .decimal(let number)):
            var bytes: [UInt8] = []
            DecimalCode.append(number, to: &bytes)
            return bytes
        default: return nil
        }
    }
}
