internal import HornbeamModel

/// One change of a property of one object, or the insertion or deletion of an object.
///
/// A change of a relationship is one step for each end, in the order of the changes. Undone in
/// reverse order, the steps restore both ends without delete rules and inverses. Steps refer to
/// objects, not to IDs, because a save changes the ID of a new object.
enum UndoStep {
    case insert(ManagedObject)
    /// A deletion, with the former members of the object's to-many relationships, in case the row no longer exists.
    case delete(ManagedObject, members: [(PropertyDescription, [ManagedObject])])
    /// A deletion was undone.
    case undelete(ManagedObject)
    case set(ManagedObject, PropertyDescription, old: UndoValue, new: UndoValue)
    case link(ManagedObject, PropertyDescription, ManagedObject, place: Int?)
    case unlink(ManagedObject, PropertyDescription, ManagedObject, place: Int?)
    case reorder(ManagedObject, PropertyDescription, old: [ManagedObject], new: [ManagedObject])

    var object: ManagedObject {
        switch self {
        case .insert(let object), .delete(let object, _), .undelete(let object), .set(let object, _, _, _),
            .link(let object, _, _, _), .unlink(let object, _, _, _), .reorder(let object, _, _, _):
            object
        }
    }
}

/// A value of an attribute, or the destination of a to-one relationship.
enum UndoValue {
    case value(PropertyValue)
    case object(ManagedObject)

    var propertyValue: PropertyValue {
        switch self {
        case .value(let value): value
        case .object(let object): .objectID(object.objectID)
        }
    }
}

/// The changes that one `undo` call undoes.
struct UndoGroup {
    private(set) var steps: [UndoStep] = []
    var name: String?

    /// Adds a step. If the last step changed the same property of the same object, the two are combined.
    mutating func append(_ step: UndoStep) {
        if case .set(let object, let property, _, let new) = step,
            case .set(object, property, let old, _) = steps.last
        {
            steps[steps.count - 1] = .set(object, property, old: old, new: new)
        } else {
            steps.append(step)
        }
    }

    /// The snapshot event of each object when the group is undone, in the order of the objects' first steps.
    var events: [(object: ManagedObject, events: SnapshotEvents)] {
        var order: [ManagedObject] = []
        var events: [ManagedObject: SnapshotEvents] = [:]
        for step in steps {
            if events[step.object] == nil { order.append(step.object) }
            events[step.object, default: []].insert(step.event)
        }
        return order.map { ($0, events[$0] ?? []) }
    }
}

extension UndoStep {
    fileprivate var event: SnapshotEvents {
        switch self {
        case .insert: .undoInsertion
        case .delete, .undelete: .undoDeletion
        case .set, .link, .unlink, .reorder: .undoUpdate
        }
    }
}
