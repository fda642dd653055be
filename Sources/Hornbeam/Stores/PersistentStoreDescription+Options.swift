internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// A description in the form in which the store below receives it.

extension PersistentStoreDescription {
    var location: Store.Location {
        switch type {
        case .onDisk: .directory(url.path)
        case .inMemory, .custom: .memory(name: String(url.path(percentEncoded: false).dropFirst()))
        }
    }

    var options: Store.Options {
        var options = Store.Options()
        options.createIfMissing = createsIfMissing
        options.readOnly = isReadOnly
        options.isShared = isShared
        options.busyTimeout = busyTimeout
        options.allowsNetworkFileSystem = allowsNetworkFileSystem
        options.poolBytes = poolBytes
        options.history = history.map {
            HistoryRetention(
                recordCount: $0.recordCount, unreadRecordCount: $0.unreadRecordCount, ageSeconds: $0.age / .seconds(1))
        }
        if clockOffset != 0 { options.clock = { [clockOffset, clockJumps] in Date() + (clockJumps && .random() ? -clockOffset : clockOffset) } }
        options.snapshotAgeMax = snapshotAgeMax
        options.startingPoint = startingPoint
        options.retainedGenerations = retainedGenerations
        options.retainedGenerationsAge = retainedGenerationsAge
        if shouldMigrateStoreAutomatically {
            var migration = MigrationOptions()
            migration.infersMapping = shouldInferMappingModelAutomatically
            migration.checksValues = validatesMigratedObjects
            migration.backupDirectory = backupDirectory?.path
            options.migration = migration
        }
        if case .lazy(let delay) = durability { options.durability = .lazy(maxDelay: delay) }
        return options
    }
}
