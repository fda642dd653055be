/// The objects of one context by key: one instance per ID (MOC-11).
///
/// Cells lie in pages of 256 neighbouring keys, so that finding one costs no hashing while keys are near
/// each other, as those of a fetch are. The registry holds objects strongly; `sweep` lets go of clean
/// ones that nobody else holds, which makes it weak in effect (MOC-16).
struct ObjectRegistry: ~Copyable {
    private var pages: [UInt64: Page] = [:]
    private var lastPage: Page?
    private(set) var count = 0
    /// Objects that survived the last sweep; the next is due when there are twice as many.
    private var survivors = 0

    private final class Page {
        let number: UInt64
        var cells: [ManagedObject?] = Array(repeating: nil, count: 256)
        var used = 0
        init(_ number: UInt64) { self.number = number }
    }

    subscript(key: UInt64) -> ManagedObject? {
        mutating get {
            guard let page = page(key >> 8) else { return nil }
            return page.cells[Int(key & 255)]
        }
    }

    mutating func insert(_ object: ManagedObject, at key: UInt64) {
        let page = page(key >> 8) ?? newPage(key >> 8)
        if page.cells[Int(key & 255)] == nil {
            page.used += 1
            count += 1
        }
        page.cells[Int(key & 255)] = object
    }

    mutating func remove(_ key: UInt64) {
        guard let page = page(key >> 8), page.cells[Int(key & 255)] != nil else { return }
        page.cells[Int(key & 255)] = nil
        page.used -= 1
        count -= 1
        if page.used == 0 { drop(page) }
    }

    mutating func removeAll() {
        pages = [:]
        lastPage = nil
        count = 0
        survivors = 0
    }

    /// Every object, in the order of keys.
    var objects: [ManagedObject] {
        pages.values.sorted { $0.number < $1.number }.flatMap { $0.cells.compactMap(\.self) }
    }

    var isSweepDue: Bool { count > survivors * 2 + 4096 }

    /// Lets go of the clean objects that nobody else holds.
    mutating func sweep() {
        for page in Array(pages.values) {
            for cell in page.cells.indices {
                guard let state = page.cells[cell]?.state, state.isDisjoint(with: [.tracked, .inserted]),
                    isKnownUniquelyReferenced(&page.cells[cell])
                else { continue }
                page.cells[cell] = nil
                page.used -= 1
                count -= 1
            }
            if page.used == 0 { drop(page) }
        }
        survivors = count
    }

    /// True when the object at the key is held by somebody beside the registry.
    mutating func isShared(_ key: UInt64) -> Bool {
        guard let page = page(key >> 8), page.cells[Int(key & 255)] != nil else { return false }
        return !isKnownUniquelyReferenced(&page.cells[Int(key & 255)])
    }

    private mutating func page(_ number: UInt64) -> Page? {
        if let lastPage, lastPage.number == number { return lastPage }
        guard let page = pages[number] else { return nil }
        lastPage = page
        return page
    }

    private mutating func newPage(_ number: UInt64) -> Page {
        let page = Page(number)
        pages[number] = page
        lastPage = page
        return page
    }

    private mutating func drop(_ page: Page) {
        pages[page.number] = nil
        if lastPage === page { lastPage = nil }
    }
}
