internal import HornbeamStore

// The objects of the rows that a fetch, a relationship or an import reads.

extension ObjectRegistry {
    /// The object at a key; nil if it has another entity than the scope.
    func object(_ key: UInt64, of scope: EntityScope) -> ManagedObject? {
        guard let object = self[key], object.scope === scope || object.scope.entity === scope.entity else { return nil }
        return object
    }

    /// The objects with the next larger keys; the search ends at `limit` objects, or 256 keys after `key`.
    func neighbours(after key: UInt64, limit: Int) -> [ManagedObject] {
        var found: [ManagedObject] = []
        var next = key
        while found.count < limit, next &- key < 256 {
            guard let place = place(of: Self.number(next)) else {
                next = (next | UInt64(Self.groupSize - 1)) + 1
                continue
            }
            for cell in Self.cell(next)..<Self.groupSize where found.count < limit {
                if unsafe dueFaults != nil { becomeFaultIfDue(at: place * Self.groupSize + cell) }
                if let object = unsafe cells[place * Self.groupSize + cell] { found.append(object) }
            }
            next = (next | UInt64(Self.groupSize - 1)) + 1
        }
        return found
    }

    /// True if the object at the key is in use outside the registry.
    func isShared(_ key: UInt64) -> Bool {
        guard let place = place(of: Self.number(key)) else { return false }
        let index = place * Self.groupSize + Self.cell(key)
        return unsafe cells[index] != nil && !isKnownUniquelyReferenced(&cells[index])
    }

    /// True if no object with one of the keys has a state besides its row. Finds the objects without counting references to them.
    ///
    /// - Parameter keyBits: The bits of the keys that are not in `keys`.
    func haveNoState(_ keys: [UInt64], _ keyBits: UInt64) -> Bool {
        guard count > 0, unsafe dueFaults == nil else { return count == 0 }
        for key in keys {
            let number = Self.number(key | keyBits)
            // The objects of an import have neighbouring keys, so that those of another entity are often all below or above them.
            if number < bounds.lower || number > bounds.upper { continue }
            var place = firstPlace(number)
            while unsafe numbers[place] != number, unsafe numbers[place] != 0 { place = (place + 1) & (capacity - 1) }
            if unsafe numbers[place] != 0, !isAsStored(place * Self.groupSize + Self.cell(key)) { return false }
        }
        return true
    }

    /// True for an object whose values are those of its row, and for an empty cell.
    @inline(__always)
    private func isAsStored(_ index: Int) -> Bool {
        withObject(at: index) { $0.record == nil && $0.state.subtracting(.fault).isEmpty } ?? true
    }
}
