/// The content of one tree as a plain model: a fixed number of possible keys, and for each existing key a stamp, which determines its value.
struct PlainTree: Equatable {
    /// A bit for each possible key: set if it exists.
    private var words: [UInt64]
    private var stamps: [UInt64]
    private(set) var count = 0

    init(keys: Int) {
        words = Array(repeating: 0, count: (keys + 63) / 64)
        stamps = Array(repeating: 0, count: keys)
    }

    var keyCount: Int { stamps.count }

    func contains(_ key: Int) -> Bool { words[key >> 6] >> UInt64(key & 63) & 1 == 1 }

    /// The stamp of a key; nil for a missing key.
    subscript(key: Int) -> UInt64? {
        get { contains(key) ? stamps[key] : nil }
        set {
            let bit: UInt64 = 1 << UInt64(key & 63)
            if contains(key) != (newValue != nil) { count += newValue == nil ? -1 : 1 }
            if let newValue {
                words[key >> 6] |= bit
                stamps[key] = newValue
            } else {
                words[key >> 6] &= ~bit
                stamps[key] = 0
            }
        }
    }

    /// The number of existing keys below a key. The key may be one after the last possible key.
    func rank(of key: Int) -> Int {
        var rank = 0
        for word in 0..<key >> 6 { rank += words[word].nonzeroBitCount }
        if key & 63 > 0 { rank += (words[key >> 6] & (1 << UInt64(key & 63) - 1)).nonzeroBitCount }
        return rank
    }

    /// The n-th existing key; nil if there are fewer.
    func key(at n: Int) -> Int? {
        guard n < count else { return nil }
        var rest = n
        for (index, word) in words.enumerated() {
            let here = word.nonzeroBitCount
            guard rest >= here else { return index << 6 + Self.bit(rest, of: word) }
            rest -= here
        }
        return nil
    }

    private static func bit(_ n: Int, of word: UInt64) -> Int {
        var word = word
        for _ in 0..<n { word &= word - 1 }
        return word.trailingZeroBitCount
    }

    /// The first existing key that is not below a key.
    func next(from key: Int) -> Int? {
        guard key < keyCount else { return nil }
        var index = key >> 6
        var word = words[index] & (.max << UInt64(key & 63))
        while word == 0 {
            index += 1
            guard index < words.count else { return nil }
            word = words[index]
        }
        return index << 6 + word.trailingZeroBitCount
    }
}
