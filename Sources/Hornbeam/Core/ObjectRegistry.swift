internal import HornbeamStore

/// The objects of one context by key: one instance per ID (MOC-11).
///
/// An open-addressing hash table of groups. Each slot has a group of eight neighbouring keys, which fills one cache line: objects of a fetch
/// share lines, and a single object uses one line. The registry retains its objects. `sweep` releases the unchanged objects that the
/// program does not use, so the references of the registry are weak in effect (MOC-16). Safe: it owns its memory.
@safe final class ObjectRegistry {
    static let groupSize = 8
    private static let capacityMin = 8
    /// An empty table with at most this capacity is not freed, because it is usually filled again.
    private static let emptyCapacityMax = 1024

    /// For each slot, the number of its group plus one: the keys without their low three bits. 0 for an empty slot.
    var numbers: UnsafeMutablePointer<UInt64>
    /// The objects, eight for each slot.
    var cells: UnsafeMutablePointer<ManagedObject?>
    /// The number of slots: a power of two.
    var capacity: Int
    /// The number of slots in use, including those of groups without objects.
    private var used = 0
    /// The group of the last successful search, and its slot.
    private var last: (number: UInt64, place: Int) = (0, 0)
    /// Bounds of the numbers in use.
    private(set) var bounds: (lower: UInt64, upper: UInt64) = noBounds
    private static let noBounds = (lower: UInt64.max, upper: UInt64(0))
    private(set) var count = 0
    /// For each slot, a bitmap of the objects that become faults at their next lookup; nil if there are none.
    var dueFaults: UnsafeMutablePointer<UInt8>?
    /// The numbers of objects and groups after the last sweep. The next sweep runs when one of them has doubled.
    private var survivors = (objects: 0, groups: 0)
    /// The keys of objects that were registered since the last sweep, in this order; at most `newKeysMax`. Nil while the table has its smallest capacity.
    private var newKeys: UnsafeMutablePointer<UInt64>?
    private var newCount = 0
    private static let newKeysMax = 2 * unusedMin

    init() {
        capacity = Self.capacityMin
        unsafe (numbers, cells) = unsafe Self.places(capacity)
    }

    deinit {
        unsafe dueFaults?.deallocate()
        unsafe newKeys?.deallocate()
        unsafe Self.free(numbers, cells, capacity)
    }

    subscript(key: UInt64) -> ManagedObject? {
        guard let place = place(of: Self.number(key)) else { return nil }
        let index = place * Self.groupSize + Self.cell(key)
        if unsafe dueFaults != nil { becomeFaultIfDue(at: index) }
        return unsafe cells[index]
    }

    /// The number of objects whose fields are read together. The processor handles about as many cache misses in parallel.
    static let prefetchWidth = 16

    /// Reads a field of the objects of some rows, so that their cache misses overlap. The objects are not retained: an increment of the reference
    /// count would wait for the memory and delay later accesses.
    func touch(_ rows: UnsafeBufferPointer<ResultRow>) {
        var states: UInt64 = 0
        var current: UInt64 = 0
        for unsafe row in unsafe rows {
            let key = row.reference.key
            let number = Self.number(key)
            if number != current {
                current = number
                prefetchGroup(of: number)
            }
            guard let place = place(of: number) else { continue }
            states &+= UInt64(state(at: place * Self.groupSize + Self.cell(key))?.rawValue ?? 0)
        }
        // Never true. The compiler would remove the reads if their sum were not used.
        if states > UInt64(UInt16.max) * UInt64(Self.prefetchWidth) { preconditionFailure("Objects have more states than they can have.") }
    }

    /// Prefetches the group of a row that comes a few rows later. Unless there was a collision, its slot follows from its number.
    @inline(__always)
    private func prefetchGroup(of number: UInt64) {
        let place = firstPlace(number &+ 8)
        unsafe ResultSet.prefetchLines(numbers + place, cells + place * Self.groupSize)
    }

    func insert(_ object: ManagedObject, at key: UInt64) {
        let number = Self.number(key)
        let index = (place(of: number) ?? newPlace(number)) * Self.groupSize + Self.cell(key)
        if unsafe cells[index] == nil {
            count += 1
            if let newKeys = unsafe newKeys, newCount < Self.newKeysMax {
                unsafe newKeys[newCount] = key
                newCount += 1
            }
        }
        if unsafe dueFaults != nil { becomeFaultIfDue(at: index) }
        unsafe cells[index] = object
    }

    func remove(_ key: UInt64) {
        guard let place = place(of: Self.number(key)), unsafe cells[place * Self.groupSize + Self.cell(key)] != nil else { return }
        count -= 1
        if unsafe dueFaults != nil { becomeFaultIfDue(at: place * Self.groupSize + Self.cell(key)) }
        unsafe cells[place * Self.groupSize + Self.cell(key)] = nil
    }

    func removeAll() {
        let old = unsafe (numbers: numbers, cells: cells, capacity: capacity)
        resetTable()
        unsafe Self.free(old.numbers, old.cells, old.capacity)
    }

    /// Every object, in the order of keys.
    var objects: [ManagedObject] {
        var objects: [ManagedObject] = []
        for place in 0..<capacity where unsafe numbers[place] != 0 {
            for index in place * Self.groupSize..<(place + 1) * Self.groupSize {
                if unsafe dueFaults != nil { becomeFaultIfDue(at: index) }
                if let object = unsafe cells[index] { objects.append(object) }
            }
        }
        objects.sort { $0.key < $1.key }
        return objects
    }

    // MARK: Sweeping

    /// A sweep runs after at least this many insertions. With few objects, the array of released objects stays in the first-level cache.
    private static let unusedMin = 256
    /// The number of insertions after which a sweep runs.
    private var unusedMax = unusedMin

    var isSweepDue: Bool { count > survivors.objects * 2 + unusedMax || used > survivors.groups * 2 + unusedMax }

    var isSweepOfNewObjectsDue: Bool { newCount >= Self.unusedMin && unusedMax == Self.unusedMin }

    /// The number of rows up to which the unused objects of a store stay registered. They take 1.6 MB, and a further lookup finds them without making
    /// them again.
    private static let keptRowsMax = 1 << 14

    /// Sets the number of insertions after which a sweep runs, by the number of rows that the context may read.
    func keepUnusedObjects(ofRows rows: Int) { unusedMax = rows > Self.keptRowsMax ? Self.unusedMin : max(rows, Self.unusedMin) }

    /// Releases the unchanged objects that are not in use elsewhere, and the slots of empty groups.
    ///
    /// The objects are released at the end, when the table is consistent again, because their `deinit` may run any code.
    func sweep() {
        var groups = 0
        var released: [ManagedObject] = []
        released.reserveCapacity(count)
        for place in 0..<capacity where unsafe numbers[place] != 0 {
            var isEmpty = true
            for index in (place * Self.groupSize)..<((place + 1) * Self.groupSize) where unsafe cells[index] != nil {
                if unsafe isKnownUniquelyReferenced(&cells[index]), isClean(index), let object = unsafe cells[index].take() {
                    released.append(object)
                } else {
                    if unsafe dueFaults != nil { becomeFaultIfDue(at: index) }
                    isEmpty = false
                }
            }
            if !isEmpty { groups += 1 }
        }
        count -= released.count
        newCount = 0
        unsafe dueFaults?.deallocate()
        unsafe dueFaults = nil
        if groups == 0, capacity <= Self.emptyCapacityMax {
            unsafe numbers.update(repeating: 0, count: capacity)
            (used, last, bounds) = (0, (0, 0), Self.noBounds)
        } else if groups < used {
            // During a rebuild, two tables exist, which is the peak memory of a fetch. So the table is rebuilt only if it shrinks.
            // A small table keeps its size, because it is usually filled again.
            rebuild(for: max(groups, min(used, Self.emptyCapacityMax / 2)))
        }
        survivors = (count, groups)
    }

    /// Releases unused objects like `sweep`, but examines only those that were registered since the last sweep. A loop over the members of many objects that
    /// are in use would otherwise examine these again and again, and leave so many unused objects that they do not stay in the cache.
    ///
    /// The `deinit` of an object may run any code, so the table is consistent when an object is released. The keys of objects that are registered meanwhile
    /// may replace others, which are left to `sweep`.
    func sweepNewObjects() {
        guard let keys = unsafe newKeys else { return }
        let keyCount = newCount
        newCount = 0
        for place in 0..<keyCount { unsafe releaseIfUnused(keys[place]) }
    }

    /// Releases an object that is not in use. Small stores keep theirs.
    func releaseUnused(_ key: UInt64) {
        guard unusedMax == Self.unusedMin, releaseIfUnused(key) else { return }
        if newCount > 0, unsafe newKeys?[newCount - 1] == key { newCount -= 1 }
    }

    /// Returns whether the object was released.
    @discardableResult
    private func releaseIfUnused(_ key: UInt64) -> Bool {
        guard let place = place(of: Self.number(key)) else { return false }
        let index = place * Self.groupSize + Self.cell(key)
        guard unsafe cells[index] != nil, unsafe isKnownUniquelyReferenced(&cells[index]), isClean(index) else { return false }
        let object = unsafe cells[index].take()
        count -= 1
        unsafe dueFaults?[place] &= ~(1 << UInt8(Self.cell(key)))
        freePlaces(upTo: place)
        withExtendedLifetime(object) {}
        return true
    }

    /// Frees the slot of a group and those before it, while the groups have no objects and the next slot is free: no search passes such a slot.
    private func freePlaces(upTo place: Int) {
        var place = place
        while unsafe numbers[(place + 1) & (capacity - 1)] == 0, unsafe numbers[place] != 0, isEmpty(place) {
            unsafe numbers[place] = 0
            used -= 1
            last = (0, 0)
            place = (place - 1) & (capacity - 1)
        }
    }

    private func isEmpty(_ place: Int) -> Bool {
        (place * Self.groupSize..<(place + 1) * Self.groupSize).allSatisfy { unsafe cells[$0] == nil }
    }

    @inline(__always)
    private func isClean(_ index: Int) -> Bool { state(at: index)?.isDisjoint(with: [.tracked, .inserted]) ?? false }

    /// True for an object that has no state besides its row; nil for an empty cell.
    @inline(__always)
    func isPlain(_ index: Int) -> Bool? {
        withObject(at: index) { $0.state.isDisjoint(with: [.tracked, .inserted]) && $0.record == nil }
    }

    /// The state of an object, without reference counting.
    @inline(__always)
    func state(at index: Int) -> ObjectState? { withObject(at: index) { $0.state } }

    /// Passes an object to `body` without reference counting; nil for an empty cell.
    @inline(__always) @discardableResult
    func withObject<R>(at index: Int, _ body: (ManagedObject) -> R) -> R? {
        guard let address = unsafe UnsafeRawPointer(cells + index).load(as: UnsafeRawPointer?.self) else { return nil }
        return unsafe Unmanaged<ManagedObject>.fromOpaque(address)._withUnsafeGuaranteedRef(body)
    }

    // MARK: Slots

    @inline(__always)
    static func number(_ key: UInt64) -> UInt64 { key >> 3 &+ 1 }

    @inline(__always)
    static func cell(_ key: UInt64) -> Int { Int(truncatingIfNeeded: key & 7) }

    /// The first slot to search. Eight neighbouring groups have adjacent slots, because they are often accessed together. A hash distributes these
    /// sets of eight slots, so that groups at equal distances, such as the members of successive objects, do not collide.
    @inline(__always)
    func firstPlace(_ number: UInt64) -> Int {
        let spread = ((number >> 3) &* 0x9E37_79B9_7F4A_7C15) >> 29 & ~7
        return Int(truncatingIfNeeded: spread | number & 7) & (capacity - 1)
    }

    @inline(__always)
    func place(of number: UInt64) -> Int? {
        if last.number == number { return last.place }
        var place = firstPlace(number)
        while unsafe numbers[place] != number {
            if unsafe numbers[place] == 0 { return nil }
            place = (place + 1) & (capacity - 1)
        }
        last = (number, place)
        return place
    }

    private func newPlace(_ number: UInt64) -> Int {
        if used * 3 >= capacity * 2 { rebuild(for: used + 1) }
        let place = freePlace(number)
        unsafe numbers[place] = number
        used += 1
        last = (number, place)
        bounds = (min(bounds.lower, number), max(bounds.upper, number))
        return place
    }

    private func freePlace(_ number: UInt64) -> Int {
        var place = firstPlace(number)
        while unsafe numbers[place] != 0 { place = (place + 1) & (capacity - 1) }
        return place
    }

    /// Moves the groups with objects into a table with at least twice as many slots as groups.
    private func rebuild(for groups: Int) {
        let old = unsafe (numbers: numbers, cells: cells, due: dueFaults, capacity: capacity)
        var wanted = Self.capacityMin
        while wanted < groups * 2 { wanted *= 2 }
        capacity = wanted
        if unsafe newKeys == nil { unsafe newKeys = .allocate(capacity: Self.newKeysMax) }
        unsafe (numbers, cells) = unsafe Self.places(wanted)
        unsafe dueFaults = unsafe old.due.map { _ in unsafe Self.marks(wanted) }
        used = 0
        last = (0, 0)
        for place in unsafe 0..<old.capacity where unsafe old.numbers[place] != 0 {
            let source = unsafe old.cells + place * Self.groupSize
            guard (0..<Self.groupSize).contains(where: { unsafe source[$0] != nil }) else { continue }
            let target = unsafe freePlace(old.numbers[place])
            unsafe numbers[target] = unsafe old.numbers[place]
            // The target is empty, and the source is not read again.
            unsafe UnsafeMutableRawPointer(cells + target * Self.groupSize).copyMemory(
                from: source, byteCount: Self.groupSize * MemoryLayout<ManagedObject?>.stride)
            if let due = unsafe old.due { unsafe dueFaults?[target] = unsafe due[place] }
            used += 1
        }
        unsafe old.due?.deallocate()
        // The old cells own nothing any more: cells of empty groups are nil, and the others were moved.
        unsafe old.cells.deallocate()
    }

    private func resetTable() {
        unsafe dueFaults?.deallocate()
        unsafe dueFaults = nil
        capacity = Self.capacityMin
        unsafe (numbers, cells) = unsafe Self.places(capacity)
        used = 0
        last = (0, 0)
        bounds = Self.noBounds
        count = 0
        survivors = (0, 0)
        newCount = 0
    }

    private static func places(_ capacity: Int) -> (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<ManagedObject?>) {
        // One allocation, aligned to a cache line, so that each group is in one line. The smallest table is not aligned: an aligned allocation takes
        // longer, and many contexts never need a larger table.
        let cellBytes = capacity * groupSize * MemoryLayout<ManagedObject?>.stride
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: cellBytes + capacity * MemoryLayout<UInt64>.stride, alignment: capacity == capacityMin ? 16 : 64)
        let cells = unsafe memory.bindMemory(to: ManagedObject?.self, capacity: capacity * groupSize)
        unsafe cells.initialize(repeating: nil, count: capacity * groupSize)
        let numbers = unsafe (memory + cellBytes).bindMemory(to: UInt64.self, capacity: capacity)
        unsafe numbers.initialize(repeating: 0, count: capacity)
        return unsafe (numbers, cells)
    }

    private static func free(
        _ numbers: UnsafeMutablePointer<UInt64>, _ cells: UnsafeMutablePointer<ManagedObject?>, _ capacity: Int
    ) {
        for place in 0..<capacity where unsafe numbers[place] != 0 {
            for index in (place * groupSize)..<((place + 1) * groupSize) where unsafe cells[index] != nil { unsafe cells[index] = nil }
        }
        // The numbers are in the same allocation.
        unsafe cells.deallocate()
    }
}
