public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// The dictionaries of a request: the columns of objects or of groups of objects, including this context's unsaved changes.
    /// Creates no objects (FET-6, FET-12 to FET-16).
    ///
    /// Every dictionary has all columns; a missing value is `.null`, and a to-one relationship is an object ID. Without sort criteria,
    /// dictionaries are in the order of the objects' IDs, and groups in the order of their first objects.
    /// - Throws: The errors of `fetch` for objects; `predicateInvalid` for a column with several values in a group.
    public func fetch(_ request: FetchRequest<[String: PropertyValue]>) throws -> [[String: PropertyValue]] {
        try fetchDictionaries(request.untyped.resultType == .dictionaries ? request.untyped : request.untyped.selectingDictionaries)
    }

    /// The IDs of the objects that satisfy a request, in its order. Creates no objects (FET-6).
    ///
    /// - Throws: The errors of `fetch` for objects.
    public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] { try fetchIDs(request) }

    /// The results of a request, in its result type (FET-6).
    ///
    /// - Throws: The errors of `fetch` for objects.
    public func execute(_ request: FetchDescription) throws -> FetchResult {
        switch request.resultType {
        case .objects: .objects(try fetch(FetchRequest<ManagedObject>(request)))
        case .objectIDs: .objectIDs(try fetchIDs(FetchRequest<ManagedObject>(request)))
        case .dictionaries: .dictionaries(try fetchDictionaries(request))
        case .count: .count(try count(FetchRequest<ManagedObject>(request)))
        }
    }

    private func fetchDictionaries(_ request: FetchDescription) throws -> [[String: PropertyValue]] {
        if let direct = try directDictionaries(of: request) { return direct }
        let (program, rows) = try programRows(request)
        // Copies the hash table of the names, so no name is hashed again.
        return rows.map { row in program.places.mapValues { row[$0] } }
    }

    func countDictionaries(_ request: FetchDescription) throws -> Int { try dictionaryRows(request).rows.count }

    /// The values of the dictionaries of a request, and the place of each column in a row.
    func dictionaryRows(_ request: FetchDescription) throws -> (rows: [[PropertyValue]], places: [String: Int]) {
        if let direct = try directRows(of: request) { return direct }
        let (program, rows) = try programRows(request)
        return (rows, program.places)
    }

    private func programRows(_ request: FetchDescription) throws -> (program: DictionaryProgram, rows: [[PropertyValue]]) {
        let fetch = try prepared(request)
        let program = try fetch.dictionaryProgram()
        if let store = stack.queryingStore(for: fetch.request), !program.isGrouped, parent == nil, case .storeOnly = try pendingPlan(for: fetch),
            case .found(let rows) = try store.answerDictionaries(fetch, program)
        {
            return (program, rows)
        }
        let isLoaded = stack.queryingStore != nil || stack.hasQueryingStoreBesideOthers
        guard isLoaded, !program.isGrouped, fetch.request.relatedPaths(in: fetch.entity) != [] else { return (program, try rows(fetch, program)) }
        // The columns can read objects that a fetch of the objects alone does not load.
        return try readingOneState {
            try stack.load(fetch)
            try advance()
            return (program, try rows(fetch, program))
        }
    }

    private func rows(_ fetch: ValidatedFetch, _ program: DictionaryProgram) throws -> [[PropertyValue]] {
        try reportingOnce(fetch.request, program) {
            // A custom store groups by the columns that the request names.
            if stack.queryingStore == nil, fetch.request.sortDescriptors.isEmpty, let program = program.groupingDistinct {
                return try groups(fetch, program, excluding: [], adding: [])
            }
            return try program.isGrouped ? groups(fetch, program, excluding: [], adding: []) : plainRows(fetch, program)
        }
    }

    // MARK: Groups

    /// The rows of a request for groups, in the snapshot of the last fetch.
    func groupRows(_ request: FetchDescription) throws -> [[PropertyValue]] {
        let fetch = try validated(request)
        let program = try fetch.dictionaryProgram()
        return try reportingOnce(fetch.request, program) { try groups(fetch, program, excluding: [], adding: []) }
    }

    /// Groups the store's rows, without those of some keys, and with other objects. A child context calls it with its changed objects.
    private func groups(
        _ fetch: ValidatedFetch, _ program: DictionaryProgram, excluding keys: Set<UInt64>, adding others: [GroupedObject]
    ) throws -> [[PropertyValue]] {
        switch try pendingPlan(for: fetch, excluding: keys) {
        case .storeOnly: return try storedGroups(fetch, program, excluding: keys, adding: others)
        case .overlay(let overlay):
            let changed = try grouped(matching(overlay.candidates, fetch), program)
            return try storedGroups(fetch, program, excluding: overlay.excluded(and: keys), adding: others + changed)
        case .inMemory:
            var all: [ManagedObject] = []
            for case .object(let object) in try findInMemory(fetch.withoutOrder, excluding: keys) { all.append(object) }
            var groups = GroupTable(program)
            for object in try others + grouped(all, program) { groups.add(object.inputs, object: object.key) }
            return try groups.rows()
        }
    }

    private func storedGroups(
        _ fetch: ValidatedFetch, _ program: DictionaryProgram, excluding keys: Set<UInt64>, adding others: [GroupedObject]
    ) throws -> [[PropertyValue]] {
        if let parent { return try parent.groups(fetch, program, excluding: keys, adding: others) }
        let watch = FetchTimer(self)
        var excluded = keys
        if let store = stack.queryingStore(for: fetch.request) {
            if keys.isEmpty && others.isEmpty {
                switch try store.answerDictionaries(fetch, program) {
                case .found(let groups): return groups
                case .cached(let others): excluded = stack.keys(ofQuerying: others)
                }
            } else {
                excluded.formUnion(try stack.load(fetch))
            }
            try advance()
        } else {
            excluded.formUnion(try loadBesideOthers(fetch))
        }
        let answer = try readingSnapshot().groups(fetch, program, excluding: excluded, adding: others)
        note(answer.work, results: answer.rows.count, watch)
        return answer.rows
    }

    private func grouped(_ objects: [ManagedObject], _ program: DictionaryProgram) throws -> [GroupedObject] {
        try objects.map { GroupedObject(key: $0.registryKey, inputs: try inputs(of: program, for: $0)) }
    }

    // MARK: One dictionary for each object

    private func plainRows(_ fetch: ValidatedFetch, _ program: DictionaryProgram) throws -> [[PropertyValue]] {
        if let first = try firstObjects(fetch, program) {
            return try program.rows(ofObjects: first.count, isSorted: true) { try readingSnapshot().columns($0, of: $1.map { first[$0] }) }
        }
        let found = Array(try findPrepared(fetch.objects(for: program)))
        return try program.rows(ofObjects: found.count) { try columns($0, of: $1.map { found[$0] }) }
    }

    /// The objects in the window of a program whose order is a computed whole number; nil if unsaved changes, several stores or another order require
    /// the general path.
    private func firstObjects(_ fetch: ValidatedFetch, _ program: DictionaryProgram) throws -> [ObjectReference]? {
        guard let sort = program.onlySort, parent == nil, stack.queryingStore == nil, case .storeOnly = try pendingPlan(for: fetch),
            let store = try readingSnapshot().only(for: fetch.request)
        else { return nil }
        let watch = FetchTimer(self)
        guard let answer = try store.first(sort.end, of: fetch.objects(for: program), by: sort.input, isAscending: sort.isAscending)
        else { return nil }
        note(answer.work, results: answer.rows.count, watch)
        return Array(answer.references[program.windowRange(of: answer.rows.count)])
    }

    /// The values of expressions for objects in memory and in the store: for each expression its values in the order of `objects`.
    private func columns(_ inputs: [FetchExpression.Node], of objects: [FoundObject]) throws -> [[PropertyValue]] {
        var columns = inputs.map { _ in [PropertyValue](repeating: .null, count: objects.count) }
        var references: [ObjectReference] = []
        var places: [Int] = []
        for (place, object) in objects.enumerated() {
            switch object {
            case .object(let object):
                for (input, node) in inputs.enumerated() { columns[input][place] = try value(of: node, for: object) }
            case .stored(let row):
                references.append(row.reference)
                places.append(place)
            }
        }
        let stored = try readingSnapshot().columns(inputs, of: references)
        if references.count == objects.count { return stored }
        for input in inputs.indices {
            for (position, place) in places.enumerated() { columns[input][place] = stored[input][position] }
        }
        return columns
    }

    /// The inputs of a program, computed from an object in memory.
    private func inputs(of program: DictionaryProgram, for object: ManagedObject) throws -> [PropertyValue] {
        try program.inputs.map { try value(of: $0, for: object) }
    }

    private func value(of input: FetchExpression.Node, for object: ManagedObject) throws -> PropertyValue {
        try FetchExpression(node: input).value(with: object).propertyValue ?? .null
    }
}

/// The results of a fetch by result type (FET-6).
public enum FetchResult {
    /// The results as objects, for `FetchResultType.objects`.
    case objects([ManagedObject])
    /// The results as IDs, for `FetchResultType.objectIDs`.
    case objectIDs([ManagedObjectID])
    /// The results as dictionaries of the selected columns, for `FetchResultType.dictionaries`.
    case dictionaries([[String: PropertyValue]])
    /// The number of results, for `FetchResultType.count`.
    case count(Int)
}
