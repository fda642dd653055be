internal import HornbeamModel
internal import HornbeamStore

/// The state of an object besides its row: changed values, transient values, and a copy of a row
/// that may no longer be readable.
///
/// Most objects have no record.
final class ObjectRecord {
    // Only this module accesses a record, and no access calls code that could access the same field again. So the runtime check of
    // exclusive access is omitted; it would run at each assignment.

    /// The row's version at the first change; the save compares it with the stored version. 0 for a new object.
    @safe @exclusivity(unchecked) var version: UInt32 = 0
    /// The key that a running save assigns to a new object; 0 for none.
    @safe @exclusivity(unchecked) var permanentKey: UInt64 = 0
    /// The values of the properties in `held`, by property index.
    @safe @exclusivity(unchecked) var values: [PropertyValue]
    /// The properties whose value is in the record instead of the row.
    @safe @exclusivity(unchecked) var held = PropertySet()
    /// The properties that the next save writes. A to-many relationship is included if its members change.
    @safe @exclusivity(unchecked) var changed = PropertySet()
    /// The properties that setters assigned, including those that have their old value again.
    @safe @exclusivity(unchecked) private(set) var assigned = PropertySet()
    /// The properties of a new object to which its class assigned an initial value.
    @safe @exclusivity(unchecked) private(set) var initialized = PropertySet()
    /// The stored values of the changed properties; the base of three-way merges.
    @safe @exclusivity(unchecked) var originals: [Int: PropertyValue] = [:]
    /// The changed members of to-many relationships, by property index.
    @safe @exclusivity(unchecked) var toMany: [Int: ToManyChange] = [:]
    /// A copy of the row, for a context that does not merge remote changes and for deleted objects.
    @safe @exclusivity(unchecked) var frozenRow: RowValues?
    /// The results of fetched properties, until the object becomes a fault (REL-9).
    @safe @exclusivity(unchecked) var fetched: [String: [ManagedObjectID]] = [:]
    /// The properties changed since the last `processPendingChanges` (OBJ-11).
    @safe @exclusivity(unchecked) var changedInEvent = PropertySet()

    init(propertyCount: Int) {
        // The initialiser of an array that repeats a value is not specialised: it looks up its type at each call.
        values = (0..<propertyCount).map { _ in .null }
    }

    /// The record of a new object. It contains all values, and the save writes all of them.
    init(newValues: [PropertyValue], held: PropertySet) {
        values = newValues
        self.held = held
        changed = held
    }

    /// Sets a value in the record.
    func hold(_ value: PropertyValue, at index: Int) {
        values[index] = value
        held.insert(index)
    }

    /// Removes a value from the record. Then the value of the row applies.
    func release(_ index: Int) {
        values[index] = .null
        held.remove(index)
    }

    /// The changed properties that a setter assigned. Defaults and primitive values are not among them.
    var changedBySetters: PropertySet { changed.intersection(assigned) }

    /// Records that a setter changed a property.
    func recordAssignment(of index: Int) {
        assigned.insert(index)
        changedInEvent.insert(index)
    }

    /// Treats the values assigned so far as initial values, which the program did not set.
    func concludeInitialValues() {
        initialized = assigned
        assigned.removeAll()
        changedInEvent.removeAll()
    }

    /// Treats the values of a new object outside `properties` as initial values, which the program did not set.
    func limitAssignments(to properties: PropertySet) {
        for index in held where !properties.contains(index) { initialized.insert(index) }
        assigned = assigned.intersection(properties)
    }

    /// Removes the property from the next save.
    func removeChange(of index: Int) {
        changed.remove(index)
        assigned.remove(index)
    }

    /// Discards all changes for the next save.
    func discardChanges() {
        for index in changed { release(index) }
        changed.removeAll()
        assigned.removeAll()
        changedInEvent.removeAll()
        originals.removeAll()
        toMany.removeAll()
    }
}
