internal import HornbeamModel
internal import HornbeamStore

/// What all objects of one entity in one context share: entity, class, IDs' origin and the way to the context.
///
/// An object refers to its scope instead of to each of these, which keeps a fault small.
public final class EntityScope {
    let entity: EntityDescription
    let properties: [PropertyDescription]
    /// By property index.
    let isBoolean: [Bool]
    /// The values of a new object by property index, and which properties have one.
    let newValues: [PropertyValue]
    let newHeld: PropertySet
    /// The attributes that the store computes at each save (ATT-11).
    let derived: [PropertyDescription]
    let objectClass: ManagedObject.Type
    let origin: ManagedObjectID.Origin
    let temporaryOrigin: ManagedObjectID.Origin

    /// The context, or nil when it is gone. Cleared by the context's `deinit`, which is why it need not
    /// be counted: reading a property would otherwise pay for a weak load.
    unowned(unsafe) var livingContext: ManagedObjectContext?
    /// Reads for objects that outlive their context.
    private var afterlife: ManagedObjectContext?
    private var lastSnapshot: StoreSnapshot?
    /// The snapshot that the context holds, without a reference of its own: reading a property pays for none.
    private(set) var snapshot: Unmanaged<StoreSnapshot>?
    private let coordinator: PersistentStoreCoordinator
    /// True when the context has a parent, whose unsaved changes show here.
    let isNested: Bool

    init(
        entity: EntityDescription, objectClass: ManagedObject.Type,
        origin: ManagedObjectID.Origin, context: ManagedObjectContext
    ) {
        self.entity = entity
        properties = entity.properties
        isBoolean = entity.properties.map { $0.attributeType == .boolean }
        newValues = entity.properties.map(\.defaultValue)
        newHeld = entity.properties.reduce(into: PropertySet()) { if !$1.isToMany { $0.insert($1.index) } }
        derived = entity.properties.filter(\.isDerived)
        self.objectClass = objectClass
        self.origin = origin
        temporaryOrigin = ManagedObjectID.Origin(
            entityName: entity.name, storeIdentifier: nil, entityNumber: -1)
        livingContext = context.isAfterlife ? nil : context
        afterlife = context.isAfterlife ? context : nil
        coordinator = context.persistentStoreCoordinator
        isNested = context.parent != nil
        snapshot = context.snapshot.map(Unmanaged.passUnretained)
    }

    /// The context reads from another snapshot now.
    func read(from snapshot: StoreSnapshot?) {
        self.snapshot = snapshot.map(Unmanaged.passUnretained)
    }

    /// Runs the body with the snapshot that properties are read from.
    @inline(__always)
    func withSnapshot<Result>(_ body: (StoreSnapshot) throws -> Result) throws -> Result {
        if let snapshot { return try snapshot._withUnsafeGuaranteedRef(body) }
        return try body(context.readingSnapshot())
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
    func outlive(_ snapshot: StoreSnapshot?) {
        livingContext = nil
        lastSnapshot = snapshot
    }

    /// The property of a token; a trap when the entity has none of that name.
    func property(_ nameID: PropertyNameID, _ name: @autoclosure () -> String) -> PropertyDescription {
        guard let index = entity.index(of: nameID) else {
            preconditionFailure(
                "\(entity.name) has no property “\(name())”. List the class's tokens in `tokens` to have all "
                    + "such mismatches reported when the container loads.")
        }
        return properties[index]
    }
}

/// What the library hands to an object at its making. Only Hornbeam can make one.
public struct ObjectBirth {
    let scope: EntityScope
    let key: UInt64
    let hint: RowHint
    let state: ObjectState
}
