internal import HornbeamThreads

/// The number of a property's name, equal for equal names throughout the process.
///
/// Typed tokens carry it, and each entity has a table from it to the property's index, so that
/// reaching a property by token hashes no text.
public struct PropertyNameID: Hashable, Sendable {
    /// Counted from 0 in the order in which names were first met.
    @usableFromInline package let number: Int

    /// The ID of a name. Takes a lock: call it once per name, not once per access.
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
