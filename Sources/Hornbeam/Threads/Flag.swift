internal import Synchronization

/// A flag that any thread can set.
final class Flag: Sendable {
    private let value = Atomic(false)
    /// Sets the flag. Returns true if it was not set before.
    func raise() -> Bool { !value.exchange(true, ordering: .acquiringAndReleasing) }
    func lower() { value.store(false, ordering: .releasing) }
    var isRaised: Bool { value.load(ordering: .acquiring) }
}
