internal import HornbeamModel

/// The place of a store among those of a coordinator: given when it is added, never to another store.
///
/// Stores give their keys independently, so a reference that is to be looked up in a stack says which store it is of: above the
/// 48 bits of the key are 15 bits of slot. The first store's slot is 0, and its references are the same with and without it. The top
/// bit stays free for temporary keys.
package struct StoreSlot: Hashable, Comparable, Sendable, CustomStringConvertible {
    private static let keyBits: UInt64 = 48
    private static let keyMask: UInt64 = (1 << keyBits) - 1
    package static let first = StoreSlot(0)

    package let index: Int

    package init(_ index: Int) {
        precondition(index < 1 << 15, "A coordinator takes \(1 << 15) stores in its life.")
        self.index = index
    }

    /// The slot in a key of a stack.
    @inline(__always)
    package init(ofKey key: UInt64) { index = Int((key << 1) >> (Self.keyBits + 1)) }

    /// What the keys of the slot's objects have above the store's own key.
    package var bits: UInt64 { UInt64(index) << Self.keyBits }

    /// The store's own key, of one of a stack.
    @inline(__always)
    package static func local(_ key: UInt64) -> UInt64 { key & keyMask }

    package static func < (a: Self, b: Self) -> Bool { a.index < b.index }

    package var description: String { "slot \(index)" }
}

extension ObjectReference {
    /// The store that an object of a stack is in.
    package var slot: StoreSlot { StoreSlot(ofKey: key) }

    /// The reference in its own store.
    package var local: ObjectReference { ObjectReference(entityIndex: entityIndex, key: StoreSlot.local(key)) }

    /// The reference of a store's own, in a stack.
    package func inSlot(_ slot: StoreSlot) -> ObjectReference {
        ObjectReference(entityIndex: entityIndex, key: key | slot.bits)
    }
}
