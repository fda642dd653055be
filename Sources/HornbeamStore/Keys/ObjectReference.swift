package import HornbeamModel

/// An object of a store: its concrete entity and its key.
@usableFromInline package struct ObjectReference: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The position in `model.entities` of the object's own, concrete entity.
    @usableFromInline package var entityIndex: Int32
    /// Unique over all entities of the store, never 0.
    @usableFromInline package var key: UInt64

    @inlinable
    package init(entityIndex: Int32, key: UInt64) {
        self.entityIndex = entityIndex
        self.key = key
    }

    package init(_ entity: EntityDescription, _ key: UInt64) {
        self.init(entityIndex: Int32(entity.index), key: key)
    }

    @usableFromInline package static func < (a: Self, b: Self) -> Bool { a.key < b.key }

    @usableFromInline package static func == (a: Self, b: Self) -> Bool { a.key == b.key && a.entityIndex == b.entityIndex }

    @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(key) }

    @usableFromInline package var description: String { "\(entityIndex):\(key)" }
}
