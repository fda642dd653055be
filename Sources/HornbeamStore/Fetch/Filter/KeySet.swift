/// A set of object keys for frequent lookups. It is a bitmap if the keys are dense, which is usual for the keys of one entity.
struct KeySet: Sendable {
    private var first: UInt64 = 0
    private var words: [UInt64] = []
    private var scattered: Set<UInt64> = []
    let count: Int

    /// - Parameter keys: Distinct, in any order.
    init(_ keys: [UInt64]) {
        count = keys.count
        guard let least = keys.min(), let most = keys.max() else { return }
        first = least
        guard most - least <= UInt64(keys.count) * 64 + 1024 else {
            scattered = Set(keys)
            return
        }
        words = Array(repeating: 0, count: Int((most - least) / 64) + 1)
        for key in keys { words[Int((key - least) / 64)] |= 1 << ((key - least) % 64) }
    }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        guard scattered.isEmpty else { return scattered.contains(key) }
        guard key >= first, (key - first) / 64 < UInt64(words.count) else { return false }
        return words[Int((key - first) / 64)] >> ((key - first) % 64) & 1 == 1
    }
}
