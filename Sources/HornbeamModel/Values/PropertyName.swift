internal import HornbeamThreads

/// A number for the name of a property. Equal names have equal numbers in the whole process.
///
/// Typed tokens contain this number, and each entity maps it to the index of its property. Access by token
/// therefore hashes no text.
public struct PropertyNameID: Hashable, Sendable {
    /// Assigned from 0 in the order of first use.
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
