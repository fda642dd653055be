internal import Synchronization

/// A flag that any thread can raise.
final class Flag: Sendable {
    private let value = Atomic(false)
    /// True for the call that raised it.
    func raise() -> Bool { !value.exchange(true, ordering: .acquiringAndReleasing) }
    func lower() { value.store(false, ordering: .releasing) }
    var isRaised: Bool { value.load(ordering: .acquiring) }
}
