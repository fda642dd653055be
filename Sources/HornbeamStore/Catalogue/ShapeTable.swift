internal import HornbeamModel
internal import HornbeamThreads

/// Objects that are kept for request shapes: the plans of an open store. The oldest of two objects with the same slot is removed.
final class ShapeTable: Sendable {
    private static let slotCount = 512

    private struct Entry {
        /// Retained, so that no other shape gets its address.
        let shape: RequestShape
        let isCounting: Bool
        let object: any AnyObject & Sendable
    }

    private let slots = Guarded<[Entry?]>([Entry?](repeating: nil, count: ShapeTable.slotCount))

    /// The object that was kept for counts or fetches of a shape; nil if there is none.
    func object(for shape: RequestShape, isCounting: Bool) -> (any AnyObject & Sendable)? {
        let slot = Self.slot(shape, isCounting)
        return slots.withLock { slots in
            guard let entry = slots[slot], entry.shape === shape, entry.isCounting == isCounting else { return nil }
            return entry.object
        }
    }

    func keep(_ object: any AnyObject & Sendable, for shape: RequestShape, isCounting: Bool) {
        let slot = Self.slot(shape, isCounting)
        slots.withLock { $0[slot] = Entry(shape: shape, isCounting: isCounting, object: object) }
    }

    private static func slot(_ shape: RequestShape, _ isCounting: Bool) -> Int {
        let address = UInt(bitPattern: ObjectIdentifier(shape)) >> 4
        return Int((address &* 2 &+ (isCounting ? 1 : 0)) % UInt(slotCount))
    }
}
