public import Foundation
internal import HornbeamModel

/// Autosaved changes that no explicit save contains, found when a document is opened (DOC-1).
public struct DocumentRecovery: Equatable, Sendable {
    /// The time of the last autosave.
    public let date: Date
    /// The number of objects that the changes insert. An object that changed in several sessions counts once in each of them.
    public let inserted: Int
    /// The number of objects that the changes update.
    public let updated: Int
    /// The number of objects that the changes delete.
    public let deleted: Int
}

/// The number of the last autosave and its contents, in the metadata of a store. An explicit save copies the metadata with the store, so
/// a working store with another number than the saved store has unsaved changes.
struct AutosaveRecord {
    var number: Int64 = 0
    var recovery = DocumentRecovery(date: .distantPast, inserted: 0, updated: 0, deleted: 0)

    private static let key = "HornbeamDocumentAutosave"
    private static let countMax = 1 << 48

    init() {}

    init(_ metadata: [String: PropertyValue]) {
        guard case .array(let values) = metadata[Self.key], values.count == 5, case .int(let number) = values[0], case .date(let date) = values[1]
        else { return }
        // The document may come from outside. The counts of a session are added to these.
        let counts = values[2...].map { if case .int(let count) = $0 { min(max(Int(count), 0), Self.countMax) } else { 0 } }
        self.number = number
        recovery = DocumentRecovery(date: date, inserted: counts[0], updated: counts[1], deleted: counts[2])
    }

    func write(to metadata: inout [String: PropertyValue]) {
        let counts = [recovery.inserted, recovery.updated, recovery.deleted].map { PropertyValue.int(Int64($0)) }
        metadata[Self.key] = .array([.int(number), .date(recovery.date)] + counts)
    }
}

/// The objects that changed since the last explicit save.
struct DocumentChanges {
    private var inserted: Set<ManagedObjectID> = []
    private var updated: Set<ManagedObjectID> = []
    private var deleted: Set<ManagedObjectID> = []
    /// The changes of earlier sessions.
    private let earlier: DocumentRecovery?

    init(after earlier: DocumentRecovery? = nil) { self.earlier = earlier }

    mutating func add(_ context: ManagedObjectContext) throws {
        let new = context.insertedObjects
        try context.obtainPermanentIDs(for: Array(new))
        inserted.formUnion(new.map(\.objectID))
        updated.formUnion(context.updatedObjects.map(\.objectID))
        updated.subtract(inserted)
        let gone = Set(context.deletedObjects.map(\.objectID))
        deleted.formUnion(gone.subtracting(inserted))
        inserted.subtract(gone)
        updated.subtract(gone)
    }

    func recovery(at date: Date) -> DocumentRecovery {
        DocumentRecovery(
            date: date, inserted: inserted.count + (earlier?.inserted ?? 0), updated: updated.count + (earlier?.updated ?? 0),
            deleted: deleted.count + (earlier?.deleted ?? 0))
    }
}
