internal import HornbeamEngine
internal import HornbeamModel

/// The slot of a store in its coordinator. It is assigned when the store is added, and never reused.
///
/// Stores assign their keys independently, so a key in a stack contains the slot: 48 bits of local key, and above them 15 bits of slot.
/// The first store has slot 0, so its keys in the stack are equal to its local keys. The top bit marks temporary keys.
package struct StoreSlot: Hashable, Comparable, Sendable, CustomStringConvertible {
    private static let keyBits: UInt64 = 48
    private static let keyMask: UInt64 = (1 << keyBits) - 1
    package static let first = StoreSlot(0)

    package let index: Int

    package init(_ index: Int) {
        precondition(index < 1 << 15, "A coordinator accepts at most \(1 << 15) stores, including removed ones.")
        self.index = index
    }

    /// The slot in a key of a stack.
    @inline(__always)
    package init(ofKey key: UInt64) { index = Int((key << 1) >> (Self.keyBits + 1)) }

    /// The bits of the slot above the local key.
    package var bits: UInt64 { UInt64(index) << Self.keyBits }

    /// The key within its store, without the slot.
    @inline(__always)
    package static func local(_ key: UInt64) -> UInt64 { key & keyMask }

    /// True for a number that can be a key within a store. IDs from outside have any number.
    package static func isLocal(_ key: UInt64) -> Bool { key <= keyMask }

    package static func < (a: Self, b: Self) -> Bool { a.index < b.index }

    package var description: String { "slot \(index)" }
}

extension ObjectReference {
    /// The store of an object in a stack.
    package var slot: StoreSlot { StoreSlot(ofKey: key) }

    /// The reference local to its store.
    package var local: ObjectReference { ObjectReference(entityIndex: entityIndex, key: StoreSlot.local(key)) }

    /// Returns the stack reference of this local reference.
    package func inSlot(_ slot: StoreSlot) -> ObjectReference {
        ObjectReference(entityIndex: entityIndex, key: key | slot.bits)
    }
}

extension WriteTransaction {
    /// Reserves consecutive keys for objects, and returns the first.
    ///
    /// - Throws: `full` for keys with more bits than a key in a stack leaves them. Only a damaged or malicious store has them.
    func reserveKeys(_ count: Int) throws(EngineError) -> UInt64 {
        let first = try reserve(count)
        guard StoreSlot.isLocal(first + UInt64(count)) else {
            throw EngineError(.full, "The store has no keys left for new objects. Copy its objects to a new store.")
        }
        return first
    }
}
