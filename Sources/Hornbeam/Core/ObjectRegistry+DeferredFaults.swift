internal import HornbeamStore
internal import HornbeamThreads

// Objects that become faults at their next lookup, so that a context can make all its unchanged objects faults without visiting them.

extension ObjectRegistry {
    /// Returns the objects with state besides their row, or in use outside the registry, in key order. The other objects become faults: the
    /// program cannot distinguish such an object from one that was released and created again.
    ///
    /// An object becomes a fault at its next lookup, so objects without a lookup cost nothing. Before that, a weak reference may have reached the object
    /// without the registry, so the lookup checks its state again.
    func heldObjectsFaultingOthers() -> [ManagedObject] {
        let due = unsafe dueFaults ?? Self.marks(capacity)
        unsafe dueFaults = unsafe due
        let parts = max(1, min(Cores.count, capacity / Self.slotsPerThread))
        var held = [[ManagedObject]](repeating: [], count: parts)
        unsafe held.withUnsafeMutableBufferPointer { held in
            let held = unsafe held
            Cores.share(parts) { unsafe held[$0] = unsafe heldObjects(capacity * $0 / parts..<capacity * ($0 + 1) / parts, marking: due) }
        }
        return held.joined().sorted { $0.key < $1.key }
    }

    /// The smallest number of slots for which another thread is used: about half a millisecond of work.
    private static let slotsPerThread = 1 << 13

    private func heldObjects(_ places: Range<Int>, marking due: UnsafeMutablePointer<UInt8>) -> [ManagedObject] {
        var held: [ManagedObject] = []
        var ahead = (place: places.lowerBound, groups: 0)
        for place in places where unsafe numbers[place] != 0 {
            while ahead.groups < Self.groupsAhead, ahead.place < places.upperBound {
                if unsafe numbers[ahead.place] != 0 {
                    let farAhead = unsafe cells + min(ahead.place + 4 * Self.groupsAhead, capacity - 1) * Self.groupSize
                    unsafe ResultSet.prefetchLines(farAhead, due + ahead.place)
                    prefetchObjects(of: ahead.place)
                    ahead.groups += 1
                }
                ahead.place += 1
            }
            ahead.groups -= 1
            for cell in 0..<Self.groupSize {
                let index = place * Self.groupSize + cell
                guard let isPlain = isPlain(index) else { continue }
                if isPlain, unsafe isKnownUniquelyReferenced(&cells[index]) {
                    unsafe due[place] |= 1 << UInt8(cell)
                } else if let object = unsafe cells[index] {
                    unsafe due[place] &= ~(1 << UInt8(cell))
                    held.append(object)
                }
            }
        }
        return held
    }

    /// The number of groups whose objects are prefetched, including the current one. The processor can wait for about as many objects
    /// in parallel.
    private static let groupsAhead = 5

    /// Prefetches the memory of a group's objects, which are scattered.
    @inline(__always)
    private func prefetchObjects(of place: Int) {
        let addresses = unsafe UnsafeRawPointer(cells + place * Self.groupSize).assumingMemoryBound(to: UnsafeRawPointer?.self)
        for cell in 0..<Self.groupSize {
            if let object = unsafe addresses[cell] { unsafe ResultSet.prefetchLines(object, object + 48) }
        }
    }

    @inline(never)
    func becomeFaultIfDue(at index: Int) {
        let (place, cell) = (index / Self.groupSize, UInt8(index % Self.groupSize))
        guard let dueFaults = unsafe dueFaults, unsafe dueFaults[place] & 1 << cell != 0 else { return }
        unsafe dueFaults[place] &= ~(1 << cell)
        if isPlain(index) == true { withObject(at: index) { $0.state.insert(.fault) } }
    }

    static func marks(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
        let marks = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe marks.initialize(repeating: 0, count: capacity)
        return unsafe marks
    }
}
