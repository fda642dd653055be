internal import HornbeamEngine
internal import HornbeamModel

/// Carries out a plan: walks the path, asks the filters, feeds the sink.
struct FetchExecution {
    let plan: FetchPlan
    let snapshot: StoreSnapshot
    let context: FilterContext
    let sink: ResultSink
    private(set) var rowsRead = 0
    private(set) var leavesRead = 0
    /// The entities whose objects are results, by index.
    private let isWanted: [Bool]

    init(_ plan: FetchPlan, _ snapshot: StoreSnapshot, _ context: FilterContext, _ sink: ResultSink) {
        self.plan = plan
        self.snapshot = snapshot
        self.context = context
        self.sink = sink
        var isWanted = [Bool](repeating: false, count: snapshot.schema.tables.count)
        for table in plan.tables { isWanted[Int(table.index)] = true }
        self.isWanted = isWanted
    }

    mutating func run() throws(EngineError) {
        switch plan.choice.path {
        case .nothing: return
        case .scan: try scan()
        case .keys(let keys): try lookUp(keys)
        case .members(let link, let owners): try walk(link, owners)
        case .index(let access): try walk(access)
        }
    }

    private func filter(_ entityIndex: Int32) -> Filter { plan.filters[Int(entityIndex)] ?? .constant(true) }

    // MARK: Scan

    private mutating func scan() throws(EngineError) {
        var rows = 0
        var leaves = 0
        for table in plan.tables {
            let filter = filter(table.index)
            var selection = Selection(none: 0)
            var isDone = false
            try snapshot.view(table).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                rows += leaf.count
                leaves += 1
                selection.reset(all: leaf.count)
                try filter.narrow(&selection, leaf, table, context)
                isDone = try !sink.take(&selection, leaf, table)
                return !isDone
            }
            if isDone { break }
        }
        rowsRead += rows
        leavesRead += leaves
    }

    // MARK: Keys

    private mutating func lookUp(_ keys: [UInt64]) throws(EngineError) {
        for table in plan.tables { try read(keys, table) }
    }

    /// Reads rows by ascending keys, asks the filter, and gives what passes to the sink.
    private mutating func read(_ keys: [UInt64], _ table: EntityTable) throws(EngineError) {
        let filter = filter(table.index)
        var rows = 0
        try snapshot.view(table).forEachRow(keys) { (position, row, location) throws(EngineError) -> Bool in
            rows += 1
            let key = keys[position]
            guard try filter.holds(row, key, table, context) else { return true }
            return try sink.take(row, key, location, table)
        }
        rowsRead += rows
    }

    // MARK: Members

    private mutating func walk(_ link: LinkIndex, _ owners: [UInt64]) throws(EngineError) {
        let reader = try snapshot.members(link.relationship)
        var found: [ObjectReference] = []
        for owner in owners { found += try reader.references(owner: owner) }
        try finish(found.filter { isWanted[Int($0.entityIndex)] })
    }

    /// Objects found without regard to order: reads them where that is needed.
    private mutating func finish(_ found: [ObjectReference]) throws(EngineError) {
        guard !plan.isExact || sink.needsRows else {
            for reference in found.sorted() where !sink.take(reference) { return }
            return
        }
        for table in plan.tables {
            try read(found.filter { $0.entityIndex == table.index }.map(\.key).sorted(), table)
        }
    }

    // MARK: Indexes

    private mutating func walk(_ access: IndexAccess) throws(EngineError) {
        let view = try snapshot.engineSnapshot.index(access.index.tree)
        if let order = access.order {
            return try walkInOrder(access, order, view)
        }
        var found: [ObjectReference] = []
        for range in access.ranges {
            try view.forEach(in: range) { (key, value) throws(EngineError) -> Bool in
                let reference = try reference(key, value, access.index)
                if isWanted[Int(reference.entityIndex)] { found.append(reference) }
                return true
            }
        }
        try finish(found)
    }

    /// Walks one range in the order of the fetch and stops when there are enough results.
    private mutating func walkInOrder(
        _ access: IndexAccess, _ order: IndexAccess.Order, _ view: IndexView
    ) throws(EngineError) {
        var rows = 0
        var group = TiedGroup()
        for range in access.ranges {
            try view.forEach(in: range, reversed: order == .backward) { (key, value) throws(EngineError) -> Bool in
                let reference = try reference(key, value, access.index)
                guard isWanted[Int(reference.entityIndex)] else { return true }
                if order == .forward { return try takeInOrder(reference, &rows) }
                // Backwards, objects with equal values come in falling order of keys: each group is turned round.
                guard let ready = group.add(reference, components: access.index.isUnique ? key[...] : key.dropLast(8))
                else { return true }
                for reference in ready where try !takeInOrder(reference, &rows) { return false }
                return true
            }
        }
        for reference in group.finish() where try !takeInOrder(reference, &rows) { break }
        rowsRead += rows
    }

    private func takeInOrder(_ reference: ObjectReference, _ rows: inout Int) throws(EngineError) -> Bool {
        if plan.isExact { return sink.take(reference) }
        rows += 1
        let table = snapshot.schema.table(at: reference.entityIndex)
        let filter = filter(reference.entityIndex)
        var location = RowLocation()
        let passes = try context.view(reference.entityIndex).withRow(reference.key, at: &location) {
            (row) throws(EngineError) -> Bool in
            try filter.holds(row, reference.key, table, context)
        }
        guard passes == true else { return true }
        return sink.take(reference)
    }

    private func reference(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ index: ValueIndex
    ) throws(EngineError) -> ObjectReference {
        try index.reference(key, value, schema: snapshot.schema)
    }
}

extension ValueIndex {
    /// The object that an entry is of.
    func reference(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, schema: Schema
    ) throws(EngineError) -> ObjectReference {
        let keyBytes = isUnique ? 8 : 0
        guard value.count >= keyBytes + (isPolymorphic ? 4 : 0), key.count >= 8 || isUnique else {
            throw UniqueKeys.damaged(self)
        }
        let objectKey = isUnique
            ? UInt64(littleEndian: value.loadUnaligned(as: UInt64.self)) : KeyBytes.suffix(key)
        guard isPolymorphic else { return ObjectReference(entityIndex: onlyEntity, key: objectKey) }
        guard let entity = schema.entityIndex(number: EntityNumber.read(value, at: keyBytes)) else {
            throw UniqueKeys.damaged(self)
        }
        return ObjectReference(entityIndex: entity, key: objectKey)
    }
}

/// Objects with equal components, met backwards.
private struct TiedGroup {
    private var components: [UInt8] = []
    private var members: [ObjectReference] = []

    /// Adds an object; when it begins a new group, answers the finished one in rising order of keys.
    mutating func add(_ reference: ObjectReference, components other: Slice<UnsafeRawBufferPointer>) -> [ObjectReference]? {
        if !members.isEmpty, components.elementsEqual(other) {
            members.append(reference)
            return nil
        }
        let ready = finish()
        components = Array(other)
        members = [reference]
        return ready
    }

    mutating func finish() -> [ObjectReference] {
        defer { members = [] }
        return members.reversed()
    }
}
