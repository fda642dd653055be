package import Foundation
package import HornbeamModel

/// One commit in history: its author, its time and its changes.
package struct HistoryRecord: Sendable {
    /// The origin of a commit.
    package enum Kind: UInt8, Sendable {
        case save = 0
        case batch = 1
        case migration = 2
    }

    /// Objects of one entity with the same kind of change.
    package struct Group: Sendable {
        package enum Change: Sendable {
            case inserted
            /// With the indexes of the changed properties.
            case updated([Int])
            /// With the preserved values by property index: one dictionary for each object, or no dictionary at all.
            case deleted([[Int: PropertyValue]])
        }

        package var entity: EntityDescription
        package var change: Change
        /// The keys of the objects, as runs of consecutive keys, ascending.
        package var runs: [Range<UInt64>]

        package var count: Int { runs.reduce(0) { $0 + $1.count } }

        package var references: [ObjectReference] {
            runs.joined().map { ObjectReference(entityIndex: Int32(entity.index), key: $0) }
        }
    }

    /// The number of the commit. History tokens contain it.
    package var number: UInt64
    package var kind: Kind
    /// Not before the timestamp of any earlier commit, even if the system clock is set back.
    package var timestamp: Date
    package var processIdentifier: Int32
    /// A random number of the opening of the store that wrote the record; 0 in the records of custom stores.
    package var opening: UInt32 = 0
    package var processName: String?
    package var author: String?
    package var contextName: String?
    /// The stage of a migration.
    package var label: String?
    /// Inserted, updated and deleted objects, without those of entities that the model no longer has.
    package var groups: [Group]
}
