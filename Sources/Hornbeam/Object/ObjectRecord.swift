internal import HornbeamModel
internal import HornbeamStore

/// What an object keeps apart from its row: changed values, transient values, and a copy of the row
/// where the row itself may no longer be read.
///
/// Most objects have none.
final class ObjectRecord {
    // Nobody but this module touches a record, and no access to a field calls anything that could come back to it: so the check of
    // exclusive access, which would be made at each value set, is left out.

    /// The row's version when the first change was made; what a save compares. 0 for a new object.
    @exclusivity(unchecked) var version: UInt32 = 0
    /// The key that a save under way will give a new object; 0 for none.
    @exclusivity(unchecked) var permanentKey: UInt64 = 0
    /// The values of the properties in `held`, by property index.
    @exclusivity(unchecked) var values: [PropertyValue]
    /// The properties whose value is here instead of in the row.
    @exclusivity(unchecked) var held = PropertySet()
    /// The properties that the next save writes; a to-many is in it when its members change.
    @exclusivity(unchecked) var changed = PropertySet()
    /// The properties that setters changed and that are still `changed`, or were until they changed back.
    @exclusivity(unchecked) private(set) var assigned = PropertySet()
    /// The properties of a new object to which its class gave an initial value.
    @exclusivity(unchecked) private(set) var initialized = PropertySet()
    /// What the store had for the changed properties; the base of three-way merges.
    @exclusivity(unchecked) var originals: [Int: PropertyValue] = [:]
    /// The changed members of to-many relationships, by property index.
    @exclusivity(unchecked) var toMany: [Int: ToManyChange] = [:]
    /// The row as it was, for a context that does not follow the store and for deleted objects.
    @exclusivity(unchecked) var frozenRow: RowValues?
    /// What fetched properties found, until the object becomes a fault (REL-9).
    @exclusivity(unchecked) var fetched: [String: [ManagedObjectID]] = [:]
    /// The properties changed since the last `processPendingChanges` (OBJ-11).
    @exclusivity(unchecked) var changedInEvent = PropertySet()

    init(propertyCount: Int) {
        values = Array(repeating: .null, count: propertyCount)
    }

    /// The record of a new object: everything is held, and everything will be written.
    init(newValues: [PropertyValue], held: PropertySet) {
        values = newValues
        self.held = held
        changed = held
    }

    /// Keeps a value here.
    func hold(_ value: PropertyValue, at index: Int) {
        values[index] = value
        held.insert(index)
    }

    /// Forgets a value, so that the row's shows again.
    func release(_ index: Int) {
        values[index] = .null
        held.remove(index)
    }

    /// The changed properties without those that have another value only by default or as a primitive value.
    var changedBySetters: PropertySet { changed.intersection(assigned) }

    /// Notes that a setter changed a property.
    func noteAssignment(of index: Int) {
        assigned.insert(index)
        changedInEvent.insert(index)
    }

    /// Takes what was assigned so far for initial values, which the program did not set.
    func concludeInitialValues() {
        initialized = assigned
        assigned.removeAll()
        changedInEvent.removeAll()
    }

    /// Takes the other values of a new object for initial ones, which the program did not set.
    func limitAssignments(to properties: PropertySet) {
        for index in held where !properties.contains(index) { initialized.insert(index) }
        assigned = assigned.intersection(properties)
    }

    /// The next save does not write the property.
    func removeChange(of index: Int) {
        changed.remove(index)
        assigned.remove(index)
    }

    /// Forgets all that the next save would write.
    func discardChanges() {
        for index in changed { release(index) }
        changed.removeAll()
        assigned.removeAll()
        changedInEvent.removeAll()
        originals.removeAll()
        toMany.removeAll()
    }
}
