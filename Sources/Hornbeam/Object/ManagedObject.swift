internal import Foundation
public import HornbeamModel
internal import HornbeamStore

/// An object whose values live in a store: read when they are touched, written when the context saves.
///
/// Declare one class per entity, with one token and one accessor per property:
///
/// ```swift
/// final class Event: ManagedObject {
///     static let name = Attribute<String>("name")
///     static let place = ToOne<Place>("place")
///
///     var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
///     var place: Place? { get { self[Self.place] } set { self[Self.place] = newValue } }
/// }
/// ```
/// An entity without a class has objects of this class itself, reached by name.
///
/// There is one instance per ID and context (MOC-11). An object belongs to its context: neither may
/// cross to another thread or actor, and the compiler refuses to let them. Take `objectID`, or values.
///
/// A getter cannot throw. When the row cannot be read, a property shows its last known value or its
/// type's zero, and the next fetch, count and save of the context throw the reason; `value(of:)` throws it at once.
nonisolated open class ManagedObject {
    // In the order in which they take 56 bytes, which is 64 with what the C library keeps beside them: one line of the cache.

    /// Another one only when a new object finds the store that it goes into.
    final var scope: EntityScope
    /// The row's key in its store, or the number of a temporary ID.
    final var key: UInt64
    final var record: ObjectRecord?
    final var hint: RowHint
    final var state: ObjectState

    /// Used by the library. A subclass that declares initialisers of its own calls this one.
    public required init(_ birth: ObjectBirth) {
        scope = birth.scope
        key = birth.key
        hint = birth.hint
        state = birth.state
    }

    /// Makes a new object in a context; it gets a row when the context saves (MOC-9).
    ///
    /// The class must be bound to exactly one entity that is not abstract, and a store must be open; otherwise this ends the process with
    /// a sentence. `context.insert(_:)` throws instead.
    public convenience init(context: ManagedObjectContext) {
        do {
            self.init(try context.birthOfNewObject(of: Self.self))
        } catch {
            misuse((error as? HornbeamError)?.message ?? "\(error)")
        }
        context.finishInsertion(of: self)
    }

    /// The name of the entity whose objects are of this class: the class's name unless overridden.
    open class var entityName: String { _typeName(self, qualified: false) }

    /// The class's tokens. When listed, names, types and optionality are compared with the model as
    /// the container loads, and all differences are reported in one error.
    open class var tokens: [any PropertyToken] { [] }

    /// The entity that the class declares, for `ManagedObjectModel(for:)`; nil for a class that a model written apart describes.
    /// `@Entity` writes it.
    open class var entityDeclaration: EntityDeclaration? { nil }

    // MARK: Hooks

    /// Called once, before `awakeFromInsert`, to give a new object the values that are made anew for each. `@Entity` writes it.
    open func assignInitialValues() {}

    /// Called once, after a new object was inserted and has its default values (OBJ-1).
    open func awakeFromInsert() {}

    /// Called each time a fault has been filled. What setters set here is not a change (OBJ-2).
    open func awakeFromFetch() {}

    /// Called after values became others by undo, redo, rollback, refresh or a merge policy; transient values and
    /// caches can be made anew here (OBJ-3).
    open func awake(fromSnapshotEvents events: SnapshotEvents) {}

    /// Called before each save that writes or deletes the object, again for as long as values change (OBJ-5).
    open func willSave() {}

    /// Called after the save. What is changed here waits for the next one (OBJ-5).
    open func didSave() {}

    /// Called by `delete` before the delete rules are applied (OBJ-4).
    open func prepareForDeletion() {}

    /// Called before the object forgets its values (OBJ-6).
    open func willTurnIntoFault() {}

    /// Called after the object forgot its values (OBJ-6).
    open func didTurnIntoFault() {}

    /// The value that two changes of one property make together, for properties with the merge rule `custom`; nil
    /// leaves it to the merge policy (MRG-6). To-one relationships are IDs here.
    open class func mergedValue(for conflict: PropertyConflict) -> PropertyValue? { nil }

    /// Checks one value beyond the rules of the model; called by `validateValue`, and before a save for each attribute and to-one that
    /// is checked (VAL-1). Does nothing unless overridden; what it throws names the object and the key by itself.
    open func validate(_ value: PropertyValue, forKey key: String) throws {}

    /// Checks the object before it is written for the first time. Call super when overriding (VAL-2).
    open func validateForInsert() throws { try validateProperties() }

    /// Checks the object before its changes are written. Call super when overriding (VAL-2).
    open func validateForUpdate() throws { try validateProperties() }

    /// Checks the delete rules that deny (DEL-4). Call super when overriding (VAL-2).
    open func validateForDelete() throws { try validateDeletion() }
}

@available(*, unavailable, message: "A managed object stays with its context. Take its objectID or its values instead.")
extension ManagedObject: Sendable {}

/// Two objects are equal when they are the same instance.
extension ManagedObject: Hashable {
    public static func == (a: ManagedObject, b: ManagedObject) -> Bool { a === b }
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
