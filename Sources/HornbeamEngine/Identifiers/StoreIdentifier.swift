// The identity of a store: sixteen random bytes, fixed at creation and stored in every meta block and log segment.

/// The identity of a store.
package struct StoreIdentifier: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func random() -> StoreIdentifier {
        StoreIdentifier(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
    }

    package var description: String { hexadecimal(high) + hexadecimal(low) }
}
