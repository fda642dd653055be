internal import HornbeamModel
internal import HornbeamStore

/// The entity cache of a context: the data that all objects of one entity and store share, such as entity, class, origin of IDs, and context.
///
/// An object refers to its cache instead of to each of these, which keeps a fault small.
public final class EntityScope {
    let entity: EntityDescription
    /// The store of the objects, also of new ones.
    let slot: StoreSlot
    /// The bits that distinguish the objects' keys from those of other stores.
    let keyBits: UInt64
    let shape: EntityShape
    // Copies of data that each access to a property needs.
    let properties: [PropertyDescription]
    private let cellForms: [CellForm?]
    let objectClass: ManagedObject.Type
    let origin: ManagedObjectID.StoreIdentity

    /// The context; nil after its release. The context's `deinit` clears it, so the reference need not
    /// be counted; a weak reference would make each read of a property slower.
    unowned(unsafe) var livingContext: ManagedObjectContext?
    /// The detached read-only context for objects whose context was released.
    private var afterlife: ManagedObjectContext?
    private var lastSnapshot: StackSnapshot?
    /// Reads cells in the context's snapshot; nil before the first read.
    private(set) var cells: CellReader?
    /// The relationship whose members were read last, and its reader for the context's snapshot.
    private var lastMembers: (property: Int, reader: MemberReader)?
    private let coordinator: PersistentStoreCoordinator
    /// The number of faults of the entity that were fired in the context.
    var faultsFired = 0
    /// Notifies observers of properties; nil when observation is not available.
    var hub: ObservationHub?
    /// True when the custom store may have rows that are not cached in memory.
    let isIncremental: Bool
    /// True when the context has a parent, whose unsaved changes are visible here.
    let isNested: Bool
    /// Records the tokens that are read from a probe object; else nil.
    var probe: PropertyProbe?

    init(
        entity: EntityDescription, slot: StoreSlot, objectClass: ManagedObject.Type,
        origin: ManagedObjectID.StoreIdentity, isIncremental: Bool = false, context: ManagedObjectContext
    ) {
        self.entity = entity
        self.slot = slot
        keyBits = slot.bits
        shape = context.persistentStoreCoordinator.shapes[entity]
        properties = shape.properties
        cellForms = shape.cellForms
        self.objectClass = objectClass
        self.origin = origin
        unsafe livingContext = context.role.isAfterlife ? nil : context
        afterlife = context.role.isAfterlife ? context : nil
        coordinator = context.persistentStoreCoordinator
        isNested = context.parent != nil
        hub = context.observers.hub
        self.isIncremental = isIncremental
        if let snapshot = context.snapshot { read(from: snapshot) }
    }

    /// Called when the context switches to another snapshot.
    func read(from snapshot: StackSnapshot?) {
        cells = entity.isAbstract ? nil : snapshot?[slot]?.cells(entity)
        lastMembers = nil
    }

    /// The current reader for the members of a relationship.
    func readingMembers(of property: PropertyDescription) throws -> MemberReader {
        if let lastMembers, lastMembers.property == property.index { return lastMembers.reader }
        let reader = try readingSnapshot().memberReader(of: property)
        // A detached read-only context has no snapshot that could be replaced.
        if unsafe livingContext != nil { lastMembers = (property.index, reader) }
        return reader
    }

    /// The snapshot of the objects' store from which properties are read.
    func readingSnapshot() throws -> StoreSnapshot { try context.readingSnapshot().part(slot) }

    /// The current reader for cells of properties.
    @inline(__always)
    func readingCells() throws -> CellReader {
        if let cells { return cells }
        let cells = try readingSnapshot().cells(entity)
        self.cells = cells
        return cells
    }

    /// The context for reading: the existing one, or a detached read-only one with its last state.
    ///
    /// The optimiser may release a context after its last use in a function, while its objects are
    /// still read there. So reading still works, and only changes require the context (`noteChange`).
    var context: ManagedObjectContext {
        if let livingContext = unsafe livingContext { return livingContext }
        if let afterlife { return afterlife }
        let context = ManagedObjectContext(coordinator: coordinator, afterlifeOn: lastSnapshot)
        afterlife = context
        return context
    }

    /// Called when the context is released; its objects then read from its last snapshot.
    func outlive(_ snapshot: StackSnapshot?) {
        unsafe livingContext = nil
        lastSnapshot = snapshot
    }

    /// The row of an ID in the objects' store; nil for temporary IDs and those of other stores.
    func localReference(_ id: ManagedObjectID) -> ObjectReference? {
        guard id.storeIdentifier == origin.storeIdentifier, let target = entity.managedObjectModel.entitiesByName[id.entityName]
        else { return nil }
        return ObjectReference(target, id.reference)
    }

    /// The property of a token. A programmer error when the entity has no such property.
    func property(_ nameID: PropertyNameID) -> PropertyDescription { properties[index(of: nameID)] }

    /// The index of a token's property. A programmer error when the entity has no such property.
    @inline(__always)
    func index(of nameID: PropertyNameID) -> Int {
        guard let index = entity.index(of: nameID) else { return missing(nameID) }
        return index
    }

    /// True when the property's cell can be read as numbers or text of that form; false for a property without a cell. A
    /// programmer error when the property has another type than the token.
    @inline(__always)
    func isCell(_ index: Int, of form: CellForm) -> Bool {
        guard let actual = cellForms[index] else { return false }
        if actual != form { notReadable(index) }
        return true
    }

    @inline(never)
    private func missing(_ nameID: PropertyNameID) -> Int {
        if let probe {
            probe.note(nameID)
            return 0
        }
        misuse(
            "\(entity.name) has no property “\(nameID.name)”. List the class's tokens in `tokens` to have all such "
                + "mismatches reported when the container loads.")
    }

    @inline(never)
    private func notReadable(_ index: Int) -> Never {
        misuse(
            "“\(entity.name).\(properties[index].name)” is of another type than the token that reads it. List the "
                + "class's tokens in `tokens` to have all such mismatches reported when the container loads.")
    }
}

/// The library's arguments for the creation of an object. Only Hornbeam can create one.
public struct ObjectBirth {
    let scope: EntityScope
    /// The local key, or the number of a temporary ID.
    let key: UInt64
    let hint: RowHint
    let state: ObjectState
}
