/// The objects of one context by key: one instance per ID (MOC-11).
///
/// Cells lie in pages of 256 neighbouring keys, so that finding one costs no hashing while keys are near
/// each other, as those of a fetch are. The registry holds objects strongly; `sweep` lets go of clean
/// ones that nobody else holds, which makes it weak in effect (MOC-16).
struct ObjectRegistry: ~Copyable {
    private typealias Cells = UnsafeMutablePointer<ManagedObject?>
    private static let pageSize = 256

    /// The cells of each page that was ever used, until a sweep finds it empty.
    private var pages: [UInt64: Cells] = [:]
    /// The page found last.
    private var last: (number: UInt64, cells: Cells)?
    private(set) var count = 0
    /// Objects and pages that survived the last sweep; the next is due when there are twice as many.
    private var survivors = (objects: 0, pages: 0)

    deinit {
        for cells in pages.values { Self.free(cells) }
    }

    subscript(key: UInt64) -> ManagedObject? {
        mutating get { cells(key >> 8)?[Int(key & 255)] }
    }

    mutating func insert(_ object: ManagedObject, at key: UInt64) {
        let cells = cells(key >> 8) ?? newPage(key >> 8)
        if cells[Int(key & 255)] == nil { count += 1 }
        cells[Int(key & 255)] = object
    }

    mutating func remove(_ key: UInt64) {
        guard let cells = cells(key >> 8), cells[Int(key & 255)] != nil else { return }
        cells[Int(key & 255)] = nil
        count -= 1
    }

    mutating func removeAll() {
        for cells in pages.values { Self.free(cells) }
        pages = [:]
        last = nil
        count = 0
        survivors = (0, 0)
    }

    /// Every object, in the order of keys.
    var objects: [ManagedObject] {
        pages.sorted { $0.key < $1.key }
            .flatMap { page in (0..<Self.pageSize).compactMap { page.value[$0] } }
    }

    /// The objects with the next larger keys, those of the same page only.
    mutating func neighbours(after key: UInt64, limit: Int) -> [ManagedObject] {
        guard let cells = cells(key >> 8) else { return [] }
        var found: [ManagedObject] = []
        for cell in Int(key & 255)..<Self.pageSize where found.count < limit {
            if let object = cells[cell] { found.append(object) }
        }
        return found
    }

    var isSweepDue: Bool { count > survivors.objects * 2 + 4096 || pages.count > survivors.pages * 2 + 256 }

    /// Lets go of the clean objects that nobody else holds, and of empty pages.
    mutating func sweep() {
        last = nil
        for (number, cells) in pages {
            var isEmpty = true
            for cell in 0..<Self.pageSize {
                guard let state = cells[cell]?.state else { continue }
                if state.isDisjoint(with: [.tracked, .inserted]), isKnownUniquelyReferenced(&cells[cell]) {
                    cells[cell] = nil
                    count -= 1
                } else {
                    isEmpty = false
                }
            }
            guard isEmpty else { continue }
            Self.free(cells)
            pages[number] = nil
        }
        survivors = (count, pages.count)
    }

    /// True when the object at the key is held by somebody beside the registry.
    mutating func isShared(_ key: UInt64) -> Bool {
        guard let cells = cells(key >> 8), cells[Int(key & 255)] != nil else { return false }
        return !isKnownUniquelyReferenced(&cells[Int(key & 255)])
    }

    @inline(__always)
    private mutating func cells(_ number: UInt64) -> Cells? {
        if let last, last.number == number { return last.cells }
        guard let cells = pages[number] else { return nil }
        last = (number, cells)
        return cells
    }

    private mutating func newPage(_ number: UInt64) -> Cells {
        let cells = Cells.allocate(capacity: Self.pageSize)
        cells.initialize(repeating: nil, count: Self.pageSize)
        pages[number] = cells
        last = (number, cells)
        return cells
    }

    private static func free(_ cells: Cells) {
        for cell in 0..<pageSize where cells[cell] != nil { cells[cell] = nil }
        cells.deallocate()
    }
}
