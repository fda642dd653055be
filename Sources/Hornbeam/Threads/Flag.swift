internal import Synchronization

/// A flag that any thread may raise.
final class Flag: Sendable {
    private let value = Atomic(false)
    /// True for the one who raised it.
    func raise() -> Bool { !value.exchange(true, ordering: .acquiringAndReleasing) }
    func lower() { value.store(false, ordering: .releasing) }
    var isRaised: Bool { value.load(ordering: .acquiring) }
}
