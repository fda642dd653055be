internal import HornbeamEngine
internal import HornbeamModel

/// Finds the cheapest way to the rows of a fetch. Entries are counted, not guessed: the trees know how many lie in a range.
struct AccessPlanner {
    typealias Term = PredicateAnalysis.Term

    /// A row read by key costs about as much as this many cells of a scanned column.
    private static let rowCost = 16
    /// More combinations of equal components than this are not tried.
    private static let rangesMax = 256

    let snapshot: StoreSnapshot
    let entity: EntityDescription
    let tables: [EntityTable]
    let conjuncts: [PredicateAnalysis.Conjunct]
    let sorts: [SortKey]
    /// What the rows of a scan cost each, in cells of a column.
    let scanCost: Int
    /// How many results are wanted at most; nil for all.
    let wanted: Int?

    var schema: Schema { snapshot.schema }

    private var terms: [(position: Int, term: Term)] {
        conjuncts.enumerated().compactMap { position, conjunct in
            if case .term(let term) = conjunct { (position, term) } else { nil }
        }
    }

    func choose() throws(EngineError) -> AccessChoice {
        var total = 0
        for table in tables { total += snapshot.view(table).count }
        var best = AccessChoice(path: .scan, used: [], entries: total, isOrdered: sorts.isEmpty && tables.count == 1)
        var bestCost = total * scanCost + sortCost(total, best)
        for choice in try alternatives() {
            let needsRows = choice.used.count < conjuncts.count || !(choice.isOrdered || sorts.isEmpty)
            var cost = choice.entries * (needsRows ? Self.rowCost : 1) + sortCost(choice.entries, choice)
            if choice.isOrdered, !needsRows, let wanted { cost = min(cost, wanted) }
            if cost < bestCost || choice.entries == 0 {
                best = choice
                bestCost = cost
            }
        }
        return best
    }

    private func sortCost(_ entries: Int, _ choice: AccessChoice) -> Int {
        if sorts.isEmpty || choice.isOrdered { return 0 }
        return wanted == nil ? entries * Self.rowCost : entries
    }

    private func alternatives() throws(EngineError) -> [AccessChoice] {
        var choices: [AccessChoice] = []
        for (position, term) in terms {
            if let choice = try keysChoice(position, term) { choices.append(choice) }
            if let choice = try membersChoice(position, term) { choices.append(choice) }
        }
        for index in schema.indexes where entity.isKind(of: index.entity) {
            if let choice = try indexChoice(index) { choices.append(choice) }
        }
        return choices
    }

    // MARK: Keys and members

    private var compiler: FilterCompiler? { tables.first.map { FilterCompiler(snapshot.reader, $0) } }

    private func keysChoice(_ position: Int, _ term: Term) throws(EngineError) -> AccessChoice? {
        guard term.path.isEmpty, term.modifier == .direct, [.equal, .in].contains(term.comparator),
            let keys = compiler?.objectKeys(term)?.keys
        else { return nil }
        return AccessChoice(path: .keys(keys.sorted()), used: [position], entries: keys.count, isOrdered: sorts.isEmpty)
    }

    private func membersChoice(_ position: Int, _ term: Term) throws(EngineError) -> AccessChoice? {
        guard let name = term.key, term.modifier == .direct, [.equal, .in].contains(term.comparator),
            let property = entity.propertiesByName[name], property.isToOne, !property.isTransient,
            let inverse = property.inverse, inverse.isStoredToMany,
            let objects = compiler?.objectKeys(term), !objects.hasNull
        else { return nil }
        let link = schema.link(inverse)
        let reader = try snapshot.members(inverse)
        var entries = 0
        for owner in objects.keys { entries += try reader.count(owner: owner) }
        return AccessChoice(
            path: .members(link, owners: objects.keys.sorted()), used: [position], entries: entries,
            isOrdered: sorts.isEmpty && objects.keys.count == 1 && link.order == nil)
    }

    // MARK: Indexes

    private func indexChoice(_ index: ValueIndex) throws(EngineError) -> AccessChoice? {
        guard index.isUsable(schema.catalogue), index.condition?.isImplied(by: conjuncts) ?? true else { return nil }
        var prefixes: [[UInt8]] = [[]]
        var ranges: [KeyRange]?
        var used: Set<Int> = []
        var matched = 0
        for element in index.elements {
            let bounds = IndexBounds(element: element, origins: snapshot.reader.origins, holdsNulls: !index.isUnique)
            guard let match = bounds.match(terms, conjuncts) else { break }
            if let equal = match.equal, prefixes.count * equal.count > Self.rangesMax { break }
            matched += 1
            used.formUnion(match.used)
            if let equal = match.equal {
                prefixes = prefixes.flatMap { prefix in equal.map { prefix + $0 } }
            } else if let range = match.range {
                ranges = prefixes.compactMap { Self.keyRange($0, range) }
                break
            }
        }
        // A unique index has no entry for a row with a null among its values, so every value must be asked for.
        guard !index.isUnique || matched == index.elements.count else { return nil }
        let found = ranges ?? prefixes.map { KeyRange(prefix: $0) }
        let equalCount = ranges == nil ? matched : matched - 1
        let order = try order(of: index, after: equalCount, ranges: found)
        if matched == 0, order == nil { return nil }
        let view = try snapshot.engineSnapshot.index(index.tree)
        var entries = 0
        for range in found { entries += try view.count(in: range) }
        return AccessChoice(
            path: .index(IndexAccess(index: index, ranges: found, used: used, order: order)), used: used,
            entries: entries, isOrdered: order != nil)
    }

    /// Nil when nothing can be in it.
    private static func keyRange(_ prefix: [UInt8], _ range: (lower: [UInt8], upper: [UInt8]?)) -> KeyRange? {
        let upper = range.upper.map { prefix + $0 } ?? KeyRange.successor(of: prefix)
        let lower = prefix + range.lower
        if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
        return KeyRange(from: lower, to: upper)
    }

    /// The direction in which the index gives the order asked for, once its first components are fixed.
    private func order(
        of index: ValueIndex, after equalCount: Int, ranges: [KeyRange]
    ) throws(EngineError) -> IndexAccess.Order? {
        let rest = index.elements.dropFirst(equalCount)
        guard !sorts.isEmpty, ranges.count <= 1, rest.count == sorts.count else { return nil }
        if index.mayCutKeys, try snapshot.engineSnapshot.value(index.cutKeysName) != nil { return nil }
        var isForward = true
        var isBackward = true
        for (element, sort) in zip(rest, sorts) {
            guard sort.path.count == 1, sort.path[0] == element.property, sort.source == element.source, sort.collation == element.collation,
                element.type != .reference, element.type != .objectID
            else { return nil }
            isForward = isForward && element.isAscending == sort.isAscending
            isBackward = isBackward && element.isAscending != sort.isAscending
        }
        return isForward ? .forward : (isBackward ? .backward : nil)
    }
}

extension ValueIndex {
    /// False when the index was made with other folding tables than this version has.
    func isUsable(_ catalogue: Catalogue) -> Bool {
        catalogue.collation == Catalogue.currentCollation || elements.allSatisfy { $0.collation == .binary }
    }
}
