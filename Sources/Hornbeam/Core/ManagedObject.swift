internal import Foundation
public import HornbeamModel
internal import HornbeamStore

/// An object of a store. Its values are read on access, and written when the context saves.
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
/// Objects of an entity without a class are instances of this class; their properties are accessed by name.
///
/// There is one instance per ID and context (MOC-11). An object belongs to the isolation of its context, and the compiler
/// checks this. Pass `objectID`, or values, to other isolations.
///
/// A getter cannot throw. If the row cannot be read, the getter returns the last known value or the
/// type's zero, and the next fetch, count and save of the context throw the error. `value(of:)` throws it immediately.
nonisolated open class ManagedObject {
    // The fields are in an order in which an instance takes 56 bytes, and 64 with the allocator's header: one cache line.

    /// Changes only if a new object is assigned to another store.
    final var scope: EntityScope
    /// The row's key in its store, or the number of a temporary ID.
    final var key: UInt64
    final var record: ObjectRecord?
    final var hint: RowHint
    final var state: ObjectState

    /// Called by the library. A subclass with its own initialisers calls this one.
    public required init(_ birth: ObjectBirth) {
        scope = birth.scope
        key = birth.key
        hint = birth.hint
        state = birth.state
    }

    /// Inserts a new object into a context; the next save writes its row (MOC-9).
    ///
    /// The class must be bound to exactly one entity that is not abstract, and a store must be open; anything else is a programmer
    /// error. `context.insert(_:)` throws instead.
    @discardableResult
    public convenience init(context: ManagedObjectContext) {
        do {
            self.init(try context.birthOfNewObject(of: Self.self))
        } catch {
            misuse((error as? HornbeamError)?.message ?? "\(error)")
        }
        context.finishInsertion(of: self)
    }

    /// The name of the entity of this class: the class's name unless overridden.
    open class var entityName: String { _typeName(self, qualified: false) }

    /// The class's tokens. If listed, their names, types and optionality are compared with the model when
    /// the container is created, and all differences are reported in one error.
    open class var tokens: [any PropertyToken] { [] }

    /// The entity that the class declares, for `ManagedObjectModel(for:)`; nil for a class with a separate model.
    /// `@Entity` generates it.
    open class var entityDeclaration: EntityDeclaration? { nil }

    /// The order of lists of this class; `FetchRequest.inDefaultOrder()` uses it. The default is no order.
    ///
    /// `override class var defaultOrder: [FetchSort] { [FetchSort(name)] }`
    open class var defaultOrder: [FetchSort] { [] }

    // MARK: Hooks

    /// Called once, before `awakeFromInsert`, to set initial values that are computed for each object. `@Entity` generates it.
    open func assignInitialValues() {}

    /// Called once, after a new object was inserted and has its default values (OBJ-1).
    open func awakeFromInsert() {}

    /// Called each time a fault was fired. Values set here are not changes (OBJ-2).
    open func awakeFromFetch() {}

    /// Called after undo, redo, rollback, refresh or a merge policy has changed values. Compute transient values and
    /// caches here (OBJ-3).
    open func awake(fromSnapshotEvents events: SnapshotEvents) {}

    /// Called before each save that writes or deletes the object, and again while calls change values (OBJ-5).
    open func willSave() {}

    /// Called after the save. Changes that it makes are part of the next save (OBJ-5).
    open func didSave() {}

    /// Called by `delete` before the delete rules are applied (OBJ-4).
    open func prepareForDeletion() {}

    /// Called before the object becomes a fault (OBJ-6).
    open func willTurnIntoFault() {}

    /// Called after the object became a fault (OBJ-6).
    open func didTurnIntoFault() {}

    /// Merges two changes of a property with the merge rule `custom`. The default returns nil, and then
    /// the merge policy applies (MRG-6). To-one relationships are IDs in the conflict.
    open class func mergedValue(for conflict: PropertyConflict) -> PropertyValue? { nil }

    /// Validates one value beyond the rules of the model. Called by `validateValue`, and before a save for each attribute and to-one
    /// relationship to validate (VAL-1). The default does nothing. The library adds the object and the key to the errors that it throws.
    open func validate(_ value: PropertyValue, forKey key: String) throws {}

    /// Validates the object before its first save. Call super when overriding (VAL-2).
    open func validateForInsert() throws { try validateProperties() }

    /// Validates the object before its changes are saved. Call super when overriding (VAL-2).
    open func validateForUpdate() throws { try validateProperties() }

    /// Checks the delete rule `deny` (DEL-4). Call super when overriding (VAL-2).
    open func validateForDelete() throws { try validateDeletion() }
}

@available(*, unavailable, message: "A managed object is confined to its context. Pass its objectID or its values instead.")
extension ManagedObject: Sendable {}

/// Two objects are equal if they are the same instance.
extension ManagedObject: Hashable {
    public static func == (a: ManagedObject, b: ManagedObject) -> Bool { a === b }
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
