internal import HornbeamModel

/// One change of one end of one property of one object, or its coming and going.
///
/// Both ends of a relationship are steps of their own, in the order in which they were changed; taken back in the
/// reverse order they restore each other, and neither delete rules nor inverses are applied again. Objects are kept
/// themselves, since IDs change when objects are saved.
enum UndoStep {
    case insert(ManagedObject)
    /// With the members that its to-many relationships had, for when the row is gone.
    case delete(ManagedObject, members: [(PropertyDescription, [ManagedObject])])
    /// A deletion was taken back.
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

/// A value of an attribute, or the object at the other end of a to-one.
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

/// What `undo` takes back at once.
struct UndoGroup {
    private(set) var steps: [UndoStep] = []
    var name: String?

    /// Adds a step; a second change of the same property right after the first makes one step of both.
    mutating func append(_ step: UndoStep) {
        if case .set(let object, let property, _, let new) = step,
            case .set(object, property, let old, _) = steps.last
        {
            steps[steps.count - 1] = .set(object, property, old: old, new: new)
        } else {
            steps.append(step)
        }
    }

    /// What happens to each object when the group is taken back, in the order of their first steps.
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
