/// The versions of the rows of a querying store that are cached, by key. Custom stores assign keys in blocks, so the versions of neighbouring keys are
/// stored together.
struct CachedVersions {
    /// The number of consecutive keys whose versions form a page.
    private static let pageKeys = 32

    /// The places of the pages in `cells`, by page number.
    private var pages: [UInt64: Int] = [:]
    /// For each key of a page: 0 if its row is not cached; otherwise the version plus one, shifted by one bit. The lowest bit is set while the row may lack
    /// index entries.
    private var cells: [UInt64] = []
    /// The number of cached rows of each page.
    private var counts: [Int] = []
    /// The places of pages that were emptied.
    private var free: [Int] = []
    /// The page of the last access. Keys that follow each other usually have the same one.
    private var last: (number: UInt64, place: Int)?

    /// The version of a cached row; nil if the row is not cached.
    subscript(key: UInt64) -> UInt64? {
        mutating get {
            let cell = self.cell(key)
            return cell == 0 ? nil : cell >> 1 - 1
        }
    }

    /// True for a cached row that may lack index entries.
    mutating func lacksEntries(_ key: UInt64) -> Bool { cell(key) & 1 == 1 }

    /// Records the version of a row that is cached, at most 2⁶² − 1.
    mutating func set(_ key: UInt64, _ version: UInt64, lacksEntries: Bool) {
        store(key, (version & (1 << 62 - 1) + 1) << 1 | (lacksEntries ? 1 : 0))
    }

    /// Changes the version of a row if it is cached.
    mutating func update(_ key: UInt64, _ change: (UInt64) -> UInt64) {
        if let version = self[key] { set(key, change(version), lacksEntries: lacksEntries(key)) }
    }

    mutating func remove(_ key: UInt64) {
        if cell(key) != 0 { store(key, 0) }
    }

    private mutating func cell(_ key: UInt64) -> UInt64 {
        let (number, offset) = (key / UInt64(Self.pageKeys), Int(key % UInt64(Self.pageKeys)))
        if let last, last.number == number { return cells[last.place * Self.pageKeys + offset] }
        guard let place = pages[number] else { return 0 }
        last = (number, place)
        return cells[place * Self.pageKeys + offset]
    }

    private mutating func store(_ key: UInt64, _ cell: UInt64) {
        let (number, offset) = (key / UInt64(Self.pageKeys), Int(key % UInt64(Self.pageKeys)))
        let place = page(number)
        let index = place * Self.pageKeys + offset
        counts[place] += (cell == 0 ? 0 : 1) - (cells[index] == 0 ? 0 : 1)
        cells[index] = cell
        guard counts[place] == 0 else { return }
        pages[number] = nil
        free.append(place)
        last = nil
    }

    /// The place of a page, which is added if it is missing.
    private mutating func page(_ number: UInt64) -> Int {
        if let last, last.number == number { return last.place }
        let place: Int
        if let known = pages[number] {
            place = known
        } else {
            place = free.popLast() ?? counts.count
            if place == counts.count {
                cells.append(contentsOf: repeatElement(0, count: Self.pageKeys))
                counts.append(0)
            }
            pages[number] = place
        }
        last = (number, place)
        return place
    }
}
