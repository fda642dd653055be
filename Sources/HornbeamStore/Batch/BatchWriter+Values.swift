internal import HornbeamEngine
package import HornbeamModel

// Appends rows given as values, for entities and requests whose rows consist of more than cells.

extension BatchWriter {
    /// The outcome of one row.
    package enum RowOutcome: Sendable {
        case inserted(ObjectReference)
        case updated(ObjectReference)
        case skipped(ObjectReference)
    }

    /// True when writing a row of the entity also changes rows of partners, so that the row must be given as values.
    package static func needsValues(_ entity: EntityDescription) -> Bool {
        entity.properties.contains(where: \.hasToOneInverse)
    }

    /// Writes a row given as values, with its changes to other objects: partners of one-to-one relationships, members.
    ///
    /// - Parameters:
    ///   - values: Attributes and to-ones by property index. For nil, a new object gets the default.
    ///   - members: Members of to-many relationships to add, by property index.
    /// - Throws: The errors of `append()`.
    package func append(_ values: [PropertyValue?], members: [Int: [ObjectReference]] = [:]) throws -> RowOutcome {
        countGivenRow()
        return try abortingOnError {
            _ = try row()
            if options.validatesValues { try validate(values) }
            let outcome: RowOutcome
            if options.conflictRule != .fail, let holder = try holder(of: values, members) {
                guard options.conflictRule == .update else { return .skipped(holder) }
                try change(holder, values, members)
                try countRow()
                outcome = .updated(holder)
            } else {
                outcome = .inserted(try insert(values, members))
            }
            return outcome
        }
    }

    /// Like `append()`, for a row that was set cell by cell and has members of to-many relationships.
    package func append(members: [Int: [ObjectReference]]) throws -> UInt64 {
        countGivenRow()
        return try abortingOnError {
            _ = try row()
            return try appendRow(linking: members, partners: []).key
        }
    }

    private func validate(_ values: [PropertyValue?]) throws {
        for property in table.entity.properties where property.isAttribute {
            guard let value = values[property.index], !value.isNull else { continue }
            do { try property.checkInBatch(value, validating: true) } catch let error as HornbeamError { throw rowError(error) }
        }
    }

    // MARK: New rows

    private func insert(_ given: [PropertyValue?], _ members: [Int: [ObjectReference]]) throws -> ObjectReference {
        var partners: [(PropertyDescription, PropertyValue)] = []
        for property in table.entity.properties where !property.isToMany && !property.isTransient && !property.isDerived {
            let value = given[property.index] ?? property.defaultValue
            if value.isNull { continue }
            try set(property, value)
            if property.hasToOneInverse { partners.append((property, value)) }
        }
        return try appendRow(linking: members, partners: partners)
    }

    /// Writes the row, then its partners and members, before the batch can commit.
    private func appendRow(
        linking members: [Int: [ObjectReference]], partners: [(PropertyDescription, PropertyValue)]
    ) throws -> ObjectReference {
        guard let session else { preconditionFailure("A batch that has a row has a session.") }
        return try appendRow(session) { object in
            if members.isEmpty, partners.isEmpty { return }
            try session.writeEntries()
            var pending = PendingRows(session.transaction, store.reader)
            for (property, value) in partners {
                guard let target = try pending.target(value, property) else { continue }
                try pending.linkPartner(target, property, object)
            }
            try link(object, members, &pending, session)
        }
    }

    // MARK: Stored rows

    /// The stored object with the row's unique values; nil when there is none. A row that is to be skipped may have the values of several objects.
    private func holder(of values: [PropertyValue?], _ members: [Int: [ObjectReference]]) throws -> ObjectReference? {
        guard let session else { return nil }
        var coerced = [PropertyValue](repeating: .null, count: values.count)
        for (position, value) in values.enumerated() {
            guard let column = table.columns[position] else { continue }
            let value = value ?? column.property.defaultValue
            coerced[position] = column.type == .reference ? value : try column.coerced(value)
        }
        if table.hasDerivedUniqueIndexes {
            // The unique keys of earlier rows are added when their derived attributes are computed.
            try session.writeEntries()
            let execution = SaveExecution(ChangeSet(), transaction: session.transaction, reader: store.reader)
            coerced = try execution.addingDerivedValues(to: coerced, table, members)
        }
        var key = IndexKey()
        var found: ObjectReference?
        for index in table.indexes where index.isUnique {
            index.fill(&key, from: coerced)
            guard !key.hasNull,
                let holder = try UniqueKeys.holder(of: key, index, in: session.transaction, schema: store.schema)
            else { continue }
            if options.conflictRule == .skip { return holder }
            let isOther = found != nil && found != holder
            // The properties of an entity come first in those of its subentities.
            let hasProperties = store.model.entities[Int(holder.entityIndex)].isKind(of: table.entity)
            if isOther || !hasProperties { throw session.conflict(index, holder, holder, row: rowNumber) }
            found = holder
        }
        return found
    }

    private func change(
        _ object: ObjectReference, _ given: [PropertyValue?], _ members: [Int: [ObjectReference]]
    ) throws {
        guard let session else { return }
        try session.writeEntries()
        var pending = PendingRows(session.transaction, store.reader)
        for property in table.entity.properties where !property.isToMany && !property.isTransient {
            guard let value = given[property.index], !property.isDerived else { continue }
            try pending.set(property, of: object, to: value)
        }
        try link(object, members, &pending, session)
    }

    /// Adds members, and writes pending changes.
    private func link(
        _ object: ObjectReference, _ members: [Int: [ObjectReference]], _ pending: inout PendingRows,
        _ session: BatchSession
    ) throws {
        let execution = SaveExecution(ChangeSet(), transaction: session.transaction, reader: store.reader)
        for (index, added) in members.sorted(by: { $0.key < $1.key }) {
            let relationship = table.entity.properties[index]
            if let inverse = relationship.inverse, inverse.isToOne {
                let owner = PropertyValue.objectID(store.objectID(object))
                for member in added { try pending.set(inverse, of: member, to: owner) }
            } else {
                try execution.execute(ChangeSet.Link(relationship: relationship, owner: object, added: added))
            }
        }
        execution.finishChange()
        try session.write(&pending, after: execution.change)
    }
}
