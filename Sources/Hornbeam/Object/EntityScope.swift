internal import HornbeamModel
internal import HornbeamStore

/// What all objects of one entity and store in one context share: entity, class, IDs' origin and the way to the context.
///
/// An object refers to its scope instead of to each of these, which keeps a fault small.
public final class EntityScope {
    let entity: EntityDescription
    /// The store that the objects are in, or that new ones go into.
    let slot: StoreSlot
    /// What sets the objects' keys apart from those of other stores.
    let keyBits: UInt64
    let shape: EntityShape
    // Copies of what is asked at each access to a property.
    let properties: [PropertyDescription]
    private let cellForms: [CellForm?]
    let objectClass: ManagedObject.Type
    let origin: ManagedObjectID.Origin

    /// The context, or nil when it is gone. Cleared by the context's `deinit`, which is why it need not
    /// be counted: reading a property would otherwise pay for a weak load.
    unowned(unsafe) var livingContext: ManagedObjectContext?
    /// Reads for objects that outlive their context.
    private var afterlife: ManagedObjectContext?
    private var lastSnapshot: StackSnapshot?
    /// Reads cells of the snapshot that the context holds; nil before the first read.
    private(set) var cells: CellReader?
    /// The relationship whose members were read last, and what reads them in the snapshot that the context holds.
    private var lastMembers: (property: Int, reader: MemberReader)?
    private let coordinator: PersistentStoreCoordinator
    /// How many faults of the entity were fired in the context.
    var faultsFired = 0
    /// Tells observers of properties; nil where nobody may observe.
    var hub: ObservationHub?
    /// True when rows may be missing in memory that the custom store has.
    let isIncremental: Bool
    /// True when the context has a parent, whose unsaved changes show here.
    let isNested: Bool
    /// What notes the tokens that are read, in the scope of an object made for that.
    var probe: PropertyProbe?

    init(
        entity: EntityDescription, slot: StoreSlot, objectClass: ManagedObject.Type,
        origin: ManagedObjectID.Origin, isIncremental: Bool = false, context: ManagedObjectContext
    ) {
        self.entity = entity
        self.slot = slot
        keyBits = slot.bits
        shape = context.persistentStoreCoordinator.shapes[entity]
        properties = shape.properties
        cellForms = shape.cellForms
        self.objectClass = objectClass
        self.origin = origin
        livingContext = context.role.isAfterlife ? nil : context
        afterlife = context.role.isAfterlife ? context : nil
        coordinator = context.persistentStoreCoordinator
        isNested = context.parent != nil
        hub = context.observers.hub
        self.isIncremental = isIncremental
        if let snapshot = context.snapshot { read(from: snapshot) }
    }

    /// The context reads from another snapshot now.
    func read(from snapshot: StackSnapshot?) {
        cells = entity.isAbstract ? nil : snapshot?[slot]?.cells(entity)
        lastMembers = nil
    }

    /// What reads the members of a relationship now.
    func readingMembers(of property: PropertyDescription) throws -> MemberReader {
        if let lastMembers, lastMembers.property == property.index { return lastMembers.reader }
        let reader = try readingSnapshot().memberReader(of: property)
        // An afterlife has no snapshot that could end.
        if livingContext != nil { lastMembers = (property.index, reader) }
        return reader
    }

    /// The state of the objects' store that properties are read from.
    func readingSnapshot() throws -> StoreSnapshot { try context.readingSnapshot().part(slot) }

    /// What reads the cells of properties now.
    @inline(__always)
    func readingCells() throws -> CellReader {
        if let cells { return cells }
        let cells = try readingSnapshot().cells(entity)
        self.cells = cells
        return cells
    }

    /// The context to read with: the living one, or one that shows its last state.
    ///
    /// The optimiser may release a context after its last mention in a function, while objects of it are
    /// still read there. So reading goes on, and changing is what needs the context (`noteChange`).
    var context: ManagedObjectContext {
        if let livingContext { return livingContext }
        if let afterlife { return afterlife }
        let context = ManagedObjectContext(coordinator: coordinator, afterlifeOn: lastSnapshot)
        afterlife = context
        return context
    }

    /// The context goes; objects that stay read from its last snapshot.
    func outlive(_ snapshot: StackSnapshot?) {
        livingContext = nil
        lastSnapshot = snapshot
    }

    /// The row of an ID in the objects' store; nil for temporary IDs and those of other stores.
    func localReference(_ id: ManagedObjectID) -> ObjectReference? {
        guard id.storeIdentifier == origin.storeIdentifier, let target = entity.managedObjectModel.entitiesByName[id.entityName]
        else { return nil }
        return ObjectReference(target, id.reference)
    }

    /// The property of a token; a trap when the entity has none of that name.
    func property(_ nameID: PropertyNameID) -> PropertyDescription { properties[index(of: nameID)] }

    /// The index of a token's property; a trap when the entity has none of that name.
    @inline(__always)
    func index(of nameID: PropertyNameID) -> Int {
        guard let index = entity.index(of: nameID) else { return missing(nameID) }
        return index
    }

    /// True when the property's cell can be read as numbers or text of that form; false for what has no cell. A
    /// trap when the property is of another type than the token that asks.
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

/// What the library hands to an object at its making. Only Hornbeam can make one.
public struct ObjectBirth {
    let scope: EntityScope
    /// The store's own key, or the number of a temporary ID.
    let key: UInt64
    let hint: RowHint
    let state: ObjectState
}
