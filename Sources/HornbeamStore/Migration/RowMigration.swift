internal import Foundation
internal import HornbeamModel

// Migrates the rows of a custom store in a store in memory, as Hornbeam's own stores are migrated.

extension StoreRowMigration {
    init(to model: ManagedObjectModel, _ settings: MigrationOptions) {
        let location = Store.Location.memory(name: "the rows of a custom store, \(UUID().uuidString)")
        self.init(
            findsStages: { old in
                let chain = MigrationChain(settings, location)
                let versions = try chain.versions(from: old, to: model, isRequired: true)
                try chain.checkInference(from: old, over: versions)
                return zip([old] + versions, versions).contains { settings.stage(from: $0, to: $1) != nil }
            },
            migrate: { rows, lastKey, old in
                var options = Store.Options()
                options.history = nil
                // The rows stay in memory between the two openings.
                let memory = MemoryLocation(location)
                defer { withExtendedLifetime(memory) {} }
                let before = try Store.open(location, model: old, options: options)
                if lastKey > 0 { _ = try before.reserveKeys(Int(clamping: lastKey)) }
                try before.updateCache(rows)
                try before.close()
                options.migration = settings
                options.migration?.backupDirectory = nil
                let after = try Store.open(location, model: model, options: options)
                let migrated = try after.allRows()
                try after.close()
                return migrated
            })
    }
}

extension Store {
    /// All rows, in the form of a custom store.
    fileprivate func allRows() throws -> [CustomStoreRow] {
        let snapshot = try snapshot()
        return try model.entities.filter { !$0.isAbstract }.flatMap { entity in
            var request = FetchDescription(entityName: entity.name)
            request.includesSubentities = false
            return try snapshot.fetch(ValidatedFetch(request, in: model)).references.compactMap { try row($0, entity, snapshot) }
        }
    }

    private func row(_ object: ObjectReference, _ entity: EntityDescription, _ snapshot: StoreSnapshot) throws -> CustomStoreRow? {
        guard let values = try snapshot.values(entity, object.key) else { return nil }
        let columns = entity.properties.filter { !$0.isToMany && !$0.isTransient && !$0.isDerived }
        var row = CustomStoreChanges.row(customKey(object), columns.map { ($0, values.values[$0.index]) }).row
        for relationship in entity.properties where relationship.isToMany && !relationship.isTransient {
            let followsToOne = relationship.inverse.map { !$0.isToMany } ?? false
            guard relationship.isOrdered || !followsToOne else { continue }
            row.members[relationship.name] = try snapshot.members(of: relationship, owner: object.key).map(customKey)
        }
        return row
    }
}
