internal import HornbeamModel
internal import HornbeamThreads

/// Objects that are kept for request shapes: the plans of an open store. When there are many, the first ones are removed.
final class ShapeTable: Sendable {
    /// A shape can have an object for fetches and one for counts. Few shapes have changed ones with objects of their own.
    static let countMax = 2 * RequestShapes.countMax

    private struct Key: Hashable {
        let shape: ObjectIdentifier
        let isCounting: Bool
    }

    private struct Entry {
        /// Retained, so that no other shape gets its address.
        let shape: RequestShape
        let object: any AnyObject & Sendable
    }

    private let entries = Guarded(BoundedDictionary<Key, Entry>(countMax: ShapeTable.countMax))

    /// The object that was kept for counts or fetches of a shape; nil if there is none.
    func object(for shape: RequestShape, isCounting: Bool) -> (any AnyObject & Sendable)? {
        let key = Key(shape: ObjectIdentifier(shape), isCounting: isCounting)
        return entries.withLock { $0.value(for: key)?.object }
    }

    func keep(_ object: any AnyObject & Sendable, for shape: RequestShape, isCounting: Bool) {
        let key = Key(shape: ObjectIdentifier(shape), isCounting: isCounting)
        entries.withLock { $0.set(Entry(shape: shape, object: object), for: key) }
    }
}
