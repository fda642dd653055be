import Foundation

extension Decimal {
    /// The decimal with the shortest digits that read back as the same double; nil when not finite.
    ///
    /// So `1.1` means 1.1 when it meets a decimal, not 1.100000000000000088.
    package init?(shortest number: Double) {
        guard number.isFinite, let value = Decimal(predicateText: "\(number)") else { return nil }
        self = value
    }

    /// A decimal that is written in full; unlike `Decimal(string:)` it refuses trailing text.
    init?(predicateText text: String) {
        let isPlain = text.utf8.allSatisfy {
            ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || "+-.eE".utf8.contains($0)
        }
        guard isPlain, let value = Decimal(string: text) else { return nil }
        self = value
    }
}
