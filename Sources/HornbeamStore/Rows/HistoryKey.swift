internal import HornbeamEngine

/// The keys of history: the number of the commit, then the number of the part, both big-endian.
enum HistoryKey {
    static let treeName = "history"

    static func key(_ number: UInt64, part: UInt32 = 0) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(12)
        KeyBytes.append(number, to: &key)
        KeyBytes.append(part, to: &key)
        return key
    }

    /// 0 for a key that is too short.
    static func number(_ key: UnsafeRawBufferPointer) -> UInt64 { unsafe key.count < 8 ? 0 : KeyBytes.number(key, at: 0) }
}
