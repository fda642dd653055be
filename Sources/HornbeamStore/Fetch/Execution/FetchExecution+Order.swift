internal import HornbeamEngine
internal import HornbeamModel

/// Walking an index in the order of the fetch.
extension FetchExecution {
    /// Walks the ranges and passes their objects to the sink until it needs no more.
    func walkInOrder(_ access: IndexAccess) throws(EngineError) {
        guard let order = access.order else { return }
        let view = try snapshot.engineSnapshot.index(access.index.tree)
        var rows = 0
        var group = TiedGroup()
        for var range in access.ranges {
            let skipped = try skip(in: &range, access, order, view)
            if plan.isExact, order.tied == nil, !order.isBackward {
                if access.index.endsKeysWithObjects, let most = sink.freePlaces {
                    guard isRequested(access.index.onlyObject(0)) else { continue }
                    let keys = try view.suffixes(in: range, skipping: skipped, most: most)
                    sink.accept(keys, of: access.index.onlyEntity)
                    continue
                }
                try access.index.forEachObject(in: range, skipping: skipped, of: view, schema: snapshot.schema) { reference in
                    isRequested(reference) ? sink.accept(reference) : true
                }
                continue
            }
            unsafe try view.forEach(in: range, reversed: order.isBackward, skipping: skipped) {
                (key, value) throws(EngineError) -> Bool in
                let reference = unsafe try access.index.reference(key, value, schema: snapshot.schema)
                guard isRequested(reference) else { return true }
                guard let tied = order.tied else { return try acceptInOrder(reference, &rows) }
                let end = unsafe access.index.end(ofElements: tied, in: key)
                guard let ready = unsafe group.add(reference, components: key[..<end]) else { return true }
                return try accept(ready, &rows)
            }
        }
        if rows <= workMax { _ = try accept(group.finish(), &rows) }
        if rows > workMax { stop() }
        count(rows: rows)
    }

    private func accept(_ group: [ObjectReference], _ rows: inout Int) throws(EngineError) -> Bool {
        for reference in group where try !acceptInOrder(reference, &rows) { return false }
        return true
    }

    private func acceptInOrder(_ reference: ObjectReference, _ rows: inout Int) throws(EngineError) -> Bool {
        if plan.isExact { return sink.accept(reference) }
        rows += 1
        guard rows <= workMax else { return false }
        let table = snapshot.schema.table(at: reference.entityIndex)
        let filter = filter(reference.entityIndex)
        var location = RowLocation()
        // The leaf hint cache finds most rows without a descent.
        guard try snapshot.cells(table).find(reference.key, at: &location) else { return true }
        let passes = try snapshot.readRow(reference.key, of: table, at: &location) { (row) throws(EngineError) -> Bool in
            try filter.holds(row, reference.key, table, context)
        }
        guard passes == true else { return true }
        return sink.accept(reference, at: location)
    }

    // MARK: Offset

    /// Skips the entries before the offset by their ranks. If entries of a group are sorted by object key, it skips whole groups and
    /// narrows the range. Returns the number of entries of the range that the walk must skip.
    private func skip(
        in range: inout KeyRange, _ access: IndexAccess, _ order: IndexAccess.Order, _ view: IndexView
    ) throws(EngineError) -> Int {
        let wanted = min(plan.window.offset, plan.choice.entries)
        guard wanted > 0, plan.isExact, plan.includesAll(of: access.index.entity), sink.isComplete else { return 0 }
        guard let tied = order.tied else {
            sink.recordSkipped(wanted)
            return wanted
        }
        guard wanted < plan.choice.entries else {
            sink.recordSkipped(wanted)
            return wanted
        }
        let start = range.lower.isEmpty ? 0 : try view.rank(of: range.lower)
        let place = order.isBackward ? start + plan.choice.entries - 1 - wanted : start + wanted
        guard let entry = try view.entry(at: place) else { return 0 }
        let end = unsafe entry.key.withRawBytes { unsafe access.index.end(ofElements: tied, in: $0) }
        let group = KeyRange(prefix: Array(entry.key[..<end]))
        let before: Int
        if order.isBackward {
            let groupEnd = if let upper = group.upper { try view.rank(of: upper) } else { view.count }
            before = start + plan.choice.entries - groupEnd
            range.upper = group.upper
        } else {
            before = try view.rank(of: group.lower) - start
            range.lower = group.lower
        }
        sink.recordSkipped(before)
        return 0
    }
}

extension ValueIndex {
    /// Calls `body` with the object of each entry in a range, in key order, until it returns false.
    func forEachObject(
        in range: KeyRange, skipping skipped: Int = 0, of view: IndexView, schema: Schema, _ body: (ObjectReference) -> Bool
    ) throws(EngineError) {
        if endsKeysWithObjects {
            return try view.forEachSuffix(in: range, skipping: skipped) { key in body(onlyObject(key)) }
        }
        unsafe try view.forEach(in: range, skipping: skipped) { (key, value) throws(EngineError) -> Bool in
            unsafe body(try reference(key, value, schema: schema))
        }
    }

    /// True if the last eight bytes of each key are the object key, and the entries have no values: all objects are of one entity.
    var endsKeysWithObjects: Bool { !isUnique && !isPolymorphic }

    /// An object of the only entity whose objects the index contains.
    func onlyObject(_ key: UInt64) -> ObjectReference { ObjectReference(entityIndex: onlyEntity, key: key) }

    /// The first objects in a range, in key order, at most `most`.
    func objects(
        in range: KeyRange, of view: IndexView, schema: Schema, most: Int
    ) throws(EngineError) -> [ObjectReference] {
        if endsKeysWithObjects { return try view.suffixes(in: range, most: most).map(onlyObject) }
        var found: [ObjectReference] = []
        try forEachObject(in: range, of: view, schema: schema) { reference in
            found.append(reference)
            return found.count < most
        }
        return found
    }

    /// The object of an entry.
    func reference(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, schema: Schema
    ) throws(EngineError) -> ObjectReference {
        let keyBytes = isUnique ? 8 : 0
        guard value.count >= keyBytes + (isPolymorphic ? 4 : 0), key.count >= 8 || isUnique else {
            throw UniqueKeys.damaged(self)
        }
        let objectKey = unsafe isUnique
            ? UInt64(littleEndian: value.loadUnaligned(as: UInt64.self)) : KeyBytes.suffix(key)
        guard isPolymorphic else { return ObjectReference(entityIndex: onlyEntity, key: objectKey) }
        guard let entity = unsafe schema.entityIndex(number: EntityNumber.read(value, at: keyBytes), within: Int32(self.entity.index)) else {
            throw UniqueKeys.damaged(self)
        }
        return ObjectReference(entityIndex: entity, key: objectKey)
    }
}

/// Objects with equal components, sorted by their keys.
private struct TiedGroup {
    private var components: [UInt8] = []
    private var members: [ObjectReference] = []

    /// Adds an object. If it begins a new group, returns the finished one.
    mutating func add(_ reference: ObjectReference, components other: Slice<UnsafeRawBufferPointer>) -> [ObjectReference]? {
        if !members.isEmpty, unsafe components.elementsEqual(other) {
            members.append(reference)
            return nil
        }
        let ready = finish()
        components = unsafe Array(other)
        members = [reference]
        return ready
    }

    mutating func finish() -> [ObjectReference] {
        defer { members = [] }
        return members.sorted()
    }
}
