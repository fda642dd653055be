internal import HornbeamModel
internal import HornbeamStore

/// The values of a save in doubt.
struct SaveDoubt {
    let save: InDoubtSave
    let inserted: [(object: ManagedObject, reference: ObjectReference)]
    let updated: [ManagedObject]
    let deleted: [ManagedObject]
}
