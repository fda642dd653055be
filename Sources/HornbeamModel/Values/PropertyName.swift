internal import HornbeamThreads

/// The number of a property's name, equal for equal names in the whole process.
///
/// Typed tokens contain it, and each entity has a table from it to the property's index, so that
/// access by token hashes no text.
public struct PropertyNameID: Hashable, Sendable {
    /// Counted from 0 in the order of first use.
    @usableFromInline package let number: Int

    /// The ID of a name. Takes a lock: call it once per name, not per access.
    package init(_ name: String) {
        number = Self.known.withLock { known in
            if let number = known[name] { return number }
            let number = known.count
            known[name] = number
            return number
        }
    }

    /// The name, for messages. O(number of names).
    package var name: String {
        Self.known.withLock { known in known.first { $0.value == number }?.key ?? "" }
    }

    private static let known = Guarded<[String: Int]>([:])
}
