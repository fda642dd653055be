internal import HornbeamModel
internal import HornbeamStore

/// The entity cache of a context: the data that all objects of one entity and store share, such as entity, class, store identity and context.
///
/// An object has one reference to this cache instead of a field for each of these, so a fault is small.
public final class EntityScope {
    let entity: EntityDescription
    /// The store of the objects, which may be new.
    let slot: StoreSlot
    /// The bits that distinguish the objects' keys from those of other stores.
    let keyBits: UInt64
    let shape: EntityShape
    // Copies of data that each access to a property needs.
    let properties: [PropertyDescription]
    private let cellForms: [CellForm?]
    let objectClass: ManagedObject.Type
    let origin: ManagedObjectID.StoreIdentity

    /// The context; nil after its release. The context's `deinit` clears it, so the reference can be
    /// uncounted; a weak reference would make each read of a property slower.
    unowned(unsafe) var livingContext: ManagedObjectContext?
    /// The detached read-only context for objects whose context was released.
    private var detachedReader: ManagedObjectContext?
    private var lastSnapshot: StackSnapshot?
    /// Reads cells in the context's snapshot; nil before the first read.
    private(set) var cells: CellReader?
    /// The relationship whose members were read last, and its reader for the context's snapshot.
    private var lastMembers: (property: Int, reader: MemberReader)?
    private let coordinator: PersistentStoreCoordinator
    /// The number of faults of the entity that were fired in the context.
    var faultsFired = 0
    /// Notifies observers of properties; nil if observation is not available.
    var hub: ObservationHub?
    /// True if the store is a custom store that may have rows outside its cache in memory.
    let isIncremental: Bool
    /// True if the context has a parent, whose unsaved changes are visible in it.
    let isNested: Bool
    /// Records the tokens that are read from a probe object; nil for other objects.
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
        unsafe livingContext = context.role.isDetachedReader ? nil : context
        detachedReader = context.role.isDetachedReader ? context : nil
        coordinator = context.persistentStoreCoordinator
        isNested = context.parent != nil
        hub = context.observers.hub
        self.isIncremental = isIncremental
        guard let snapshot = context.snapshot else { return }
        if detachedReader != nil { lastSnapshot = snapshot }
        read(from: snapshot)
    }

    /// Sets the snapshot. Called when the context switches to another one.
    func read(from snapshot: StackSnapshot?) {
        cells = entity.isAbstract ? nil : snapshot?[slot]?.cells(entity)
        lastMembers = nil
    }

    /// The reader for the members of a relationship in the current snapshot.
    func readingMembers(of property: PropertyDescription) throws -> MemberReader {
        if let lastMembers, lastMembers.property == property.index { return lastMembers.reader }
        let reader = try readingSnapshot().memberReader(of: property)
        // The reader of a detached read-only context would form a cycle.
        if unsafe livingContext != nil { lastMembers = (property.index, reader) }
        return reader
    }

    /// The snapshot of the objects' store from which properties are read.
    func readingSnapshot() throws -> StoreSnapshot { try context.readingSnapshot().part(slot) }

    /// The current reader for cells of properties.
    @inline(__always)
    func readingCells() throws -> CellReader {
        if let cells { return cells }
        let snapshot = try context.readingSnapshot()
        if unsafe livingContext == nil { lastSnapshot = snapshot }
        let cells = try snapshot.part(slot).cells(entity)
        self.cells = cells
        return cells
    }

    /// Called after a row or members were loaded. A detached read-only context does not know its entity caches, so each of them retains the snapshot of its
    /// `cells`, and switches when it loads itself.
    func followDetachedReader(_ snapshot: StackSnapshot?) {
        guard unsafe livingContext == nil else { return }
        // The cells of the former snapshot are not used any more when it is released.
        read(from: snapshot)
        lastSnapshot = snapshot
    }

    /// The context for reading: the living one, or a detached read-only one with its last snapshot.
    ///
    /// The optimiser may release a context after its last use in a function, although the function still reads
    /// its objects. So reading works without the context, and only changes require it (`recordChange`).
    var context: ManagedObjectContext {
        if let livingContext = unsafe livingContext { return livingContext }
        if let detachedReader { return detachedReader }
        let context = ManagedObjectContext(coordinator: coordinator, detachedReaderOn: lastSnapshot)
        detachedReader = context
        return context
    }

    /// Called when the context is released. Its objects then read from its last snapshot.
    func detachFromContext(_ snapshot: StackSnapshot?) {
        unsafe livingContext = nil
        lastSnapshot = snapshot
    }

    /// The row of an ID in the objects' store; nil for temporary IDs and IDs of other stores.
    func localReference(_ id: ManagedObjectID) -> ObjectReference? {
        guard id.storeIdentifier == origin.storeIdentifier, let target = entity.managedObjectModel.entitiesByName[id.entityName]
        else { return nil }
        return ObjectReference(target, id.reference)
    }

    /// The property of a token. A missing property is a programmer error.
    func property(_ nameID: PropertyNameID) -> PropertyDescription { properties[index(of: nameID)] }

    /// The index of a token's property. A missing property is a programmer error.
    @inline(__always)
    func index(of nameID: PropertyNameID) -> Int {
        guard let index = entity.index(of: nameID) else { return missing(nameID) }
        return index
    }

    /// True if the property's cell can be read in the given form; false for a property without a cell. A token of another type
    /// is a programmer error.
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

/// The library's arguments for the creation of an object. Only the library creates instances.
public struct ObjectBirth {
    let scope: EntityScope
    /// The local key, or the number of a temporary ID.
    let key: UInt64
    let hint: RowHint
    let state: ObjectState
}
