internal import HornbeamModel
internal import HornbeamStore

/// The objects and values of an in-doubt save.
struct InDoubtChanges {
    let save: InDoubtSave
    let inserted: [(object: ManagedObject, reference: ObjectReference)]
    let updated: [ManagedObject]
    let deleted: [ManagedObject]
}
