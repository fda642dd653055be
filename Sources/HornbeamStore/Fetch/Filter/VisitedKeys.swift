/// A growing set of object keys: a bitmap for each range of 4096 keys. Stores assign keys in sequence, so the keys of one entity are dense.
struct VisitedKeys {
    private static let wordsPerPage = 64
    private static let pageBits: UInt64 = 12

    /// The first word of each page, by the upper bits of its keys.
    private var pages: [UInt64: Int] = [:]
    private var words: [UInt64] = []
    private var lastPage = (number: UInt64.max, start: 0)

    /// Returns false if the key was in the set.
    mutating func insert(_ key: UInt64) -> Bool {
        let number = key >> Self.pageBits
        if lastPage.number != number { lastPage = (number, start(of: number)) }
        let word = lastPage.start + Int(key >> 6) % Self.wordsPerPage
        let bit: UInt64 = 1 << (key & 63)
        if words[word] & bit != 0 { return false }
        words[word] |= bit
        return true
    }

    private mutating func start(of number: UInt64) -> Int {
        if let start = pages[number] { return start }
        let start = words.count
        words += repeatElement(0, count: Self.wordsPerPage)
        pages[number] = start
        return start
    }
}
