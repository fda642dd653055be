/// Rows of objects of one entity in a compact form: the values of all rows in one list, without names.
///
/// A querying store can answer with many rows in this form, which costs less than a `CustomStoreRow` for each object. The rows have all attributes and to-one
/// relationships of the entity, and no members: rows of an entity whose rows need members (see `CustomStoreRow.members`) have the other form.
///
/// ```swift
/// var table = CustomStoreTable(of: entity)
/// for record in records {
///     table.beginRow(key: record.key, version: record.version)
///     for property in table.properties {
///         if property.isAttribute { table.append(record.value(of: property)) } else { table.append(destination: record.key(of: property), author) }
///     }
/// }
/// ```
public struct CustomStoreTable: Sendable {
    /// The entity of the objects, which is not abstract.
    public let entity: EntityDescription
    /// The properties of each row, in the order of its values.
    public let properties: [PropertyDescription]
    /// The keys of the objects.
    public private(set) var keys: [UInt64] = []
    /// The versions of the rows.
    public private(set) var versions: [UInt64] = []
    /// The values row by row. A to-one relationship has the key of its destination as an integer.
    package private(set) var values = CompactValues()
    /// The entities of the destinations of to-one relationships, row by row: indexes in the model, -1 without a destination.
    package private(set) var destinations: [Int32] = []
    /// The number of to-one relationships of a row.
    package let destinationCount: Int

    /// A table without rows.
    public init(of entity: EntityDescription) {
        self.entity = entity
        properties = entity.properties.filter { !$0.isToMany && !$0.isTransient && !$0.isDerived }
        destinationCount = properties.count { $0.isRelationship }
    }

    /// The number of rows.
    public var count: Int { keys.count }

    /// Reserves memory for a number of rows in total.
    public mutating func reserveCapacity(_ count: Int) {
        keys.reserveCapacity(count)
        versions.reserveCapacity(count)
        values.reserveCapacity(count * properties.count)
        destinations.reserveCapacity(count * destinationCount)
    }

    /// Begins a row. The values of its properties follow.
    public mutating func beginRow(key: UInt64, version: UInt64) {
        precondition(values.count == keys.count * properties.count, "A row of \(entity.name) has a value for each property.")
        keys.append(key)
        versions.append(version)
    }

    /// Appends the value of the next property, an attribute. The value has the attribute's type or is `.null`.
    public mutating func append(_ value: PropertyValue) { values.append(value) }

    package mutating func append(_ flag: Bool) { values.append(flag) }
    package mutating func append(_ number: Int64) { values.append(number) }
    package mutating func append(_ number: Double) { values.append(number) }
    /// Appends a date, in seconds since 2001.
    package mutating func append(date seconds: Double) { values.append(date: seconds) }
    /// Appends a text of less than 2³² bytes, which are valid UTF-8.
    package mutating func append(utf8: UnsafeBufferPointer<UInt8>) { unsafe values.append(utf8: utf8) }

    /// Appends the destination of the next property, a to-one relationship: its key and its own entity. Without a destination both are nil.
    public mutating func append(destination key: UInt64?, _ entity: EntityDescription?) {
        guard let key, let entity else {
            values.appendNull()
            return destinations.append(-1)
        }
        values.append(Int64(bitPattern: key))
        destinations.append(Int32(entity.index))
    }

    /// The entity of a destination, by its place in `destinations`; nil without one.
    package func destination(_ place: Int) -> EntityDescription? {
        let index = destinations[place]
        return index < 0 ? nil : entity.managedObjectModel.entities[Int(index)]
    }

    /// Appends a row of another table of the entity.
    mutating func append(row number: Int, of other: CustomStoreTable) {
        beginRow(key: other.keys[number], version: other.versions[number])
        values.append(number * properties.count ..< (number + 1) * properties.count, of: other.values)
        destinations += other.destinations[number * destinationCount ..< (number + 1) * destinationCount]
    }

    /// One row with the names of its properties.
    package func row(_ number: Int, in model: ManagedObjectModel) -> CustomStoreRow {
        var row = CustomStoreRow(CustomStoreKey(entity.name, keys[number]), version: versions[number])
        var destination = number * destinationCount
        for (place, property) in properties.enumerated() {
            let value = values.propertyValue(values[number * properties.count + place])
            if property.isRelationship {
                if case .int(let key) = value {
                    row.destinations[property.name] = CustomStoreKey(model.entities[Int(destinations[destination])].name, UInt64(bitPattern: key))
                }
                destination += 1
            } else if !value.isNull {
                row.values[property.name] = value
            }
        }
        return row
    }
}
