package import Foundation
package import HornbeamModel

/// One commit as history has it: who changed what, and when.
package struct HistoryRecord: Sendable {
    /// Where a commit came from.
    package enum Kind: UInt8, Sendable {
        case save = 0
        case batch = 1
        case migration = 2
    }

    /// Objects of one entity to which the same happened.
    package struct Group: Sendable {
        package enum Change: Sendable {
            case inserted
            /// With the properties changed, by index.
            case updated([Int])
            /// With preserved values by property index, one dictionary per object, or none at all.
            case deleted([[Int: PropertyValue]])
        }

        package var entity: EntityDescription
        package var change: Change
        /// The keys of the objects, as runs of neighbours; ascending.
        package var runs: [Range<UInt64>]

        package var count: Int { runs.reduce(0) { $0 + $1.count } }

        package var references: [ObjectReference] {
            runs.joined().map { ObjectReference(entityIndex: Int32(entity.index), key: $0) }
        }
    }

    /// The commit's number, which is what tokens hold.
    package var number: UInt64
    package var kind: Kind
    /// Never before that of an earlier commit, whatever the clock did.
    package var timestamp: Date
    package var processIdentifier: Int32
    package var processName: String?
    package var author: String?
    package var contextName: String?
    /// The stage of a migration.
    package var label: String?
    /// Inserted, updated and deleted objects; those of entities that the model has no more are left out.
    package var groups: [Group]
}
