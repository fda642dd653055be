// The state of the room on the disk, as the log, the reserve and upkeep found it. Each reports to this table and reads it; none has a separate
// state.
//
//  state        commits          log segments                                       recycling   log first   upkeep
//  ample        all              of any length                                      yes         yes         as due
//  logShort     all              the second half is for commits that free space     no          yes         at once
//  spent        that free space  as short as possible                               yes         no          at once
//  exhausted    that free space  as short as possible, the second half as above     no          no          at once
//
// `logRefused` leads from the first state to the second and from the third to the fourth; `segmentMade` leads back. `reserveSpent` leads from the
// first two states to the last two; `reserveMade` leads back. Events that repeat change nothing.

import Synchronization

/// The room on the disk of one store.
package final class DiskRoom: Sendable {
    package enum State: UInt8, CaseIterable, Sendable, AtomicRepresentable {
        case ample, logShort, spent, exhausted

        /// The state after an event.
        func after(_ event: Event) -> State {
            switch (event, self) {
            case (.logRefused, .ample): .logShort
            case (.logRefused, .spent): .exhausted
            case (.segmentMade, .logShort): .ample
            case (.segmentMade, .exhausted): .spent
            case (.reserveSpent, .ample): .spent
            case (.reserveSpent, .logShort): .exhausted
            case (.reserveMade, .spent): .ample
            case (.reserveMade, .exhausted): .logShort
            default: self
            }
        }

        /// Commits that free no space are refused, log segments are as short as possible, and none is made in advance.
        var acceptsOnlyFreeing: Bool { self == .spent || self == .exhausted }
        /// The second half of a log segment is available only to commits that free space; released segments are not kept.
        var holdsLogBack: Bool { self == .logShort || self == .exhausted }
    }

    package enum Event: CaseIterable, Sendable {
        /// No room for a log segment of the wanted length, or for a group in it.
        case logRefused
        case segmentMade
        /// The reserve was released, or the disk is known to be full and has no room for it.
        case reserveSpent
        case reserveMade
    }

    private let current = Atomic(State.ample)
    /// Bytes that were free at the last check.
    private let freeBytes = Atomic(Int.max)

    package init() {}

    package var state: State { current.load(ordering: .acquiring) }

    package func apply(_ event: Event) {
        var before = state
        while true {
            let after = before.after(event)
            if after == before { return }
            let result = current.compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing)
            if result.exchanged { return }
            before = result.original
        }
    }

    /// Records the free bytes of the disk; nil if the system does not say.
    func setFreeBytes(_ bytes: Int?) { freeBytes.store(bytes ?? .max, ordering: .relaxed) }

    /// True if the disk is full, or if the unwritten nodes would take a quarter of the free space. Then checkpoints must not fall behind, or they
    /// find no space.
    func isShort(unwritten bytes: Int) -> Bool { state != .ample || bytes > freeBytes.load(ordering: .relaxed) / 4 }
}
