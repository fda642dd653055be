internal import HornbeamEngine
internal import HornbeamModel

/// Access paths over one index: keys, members of an owner, ranges of values.
extension AccessPlanner {
    /// The largest number of ranges for combinations of equal components.
    private static let rangesMax = 256

    func ownAlternatives() throws(EngineError) -> [AccessChoice] {
        var choices: [AccessChoice] = []
        let terms = terms
        for (position, term) in terms {
            if let choice = try keysChoice(position, term) { choices.append(choice) }
            if schema.findsByIndexes, let choice = try membersChoice(position, term) { choices.append(choice) }
        }
        for index in schema.indexes where schema.findsByIndexes && entity.isKind(of: index.entity) {
            if let choice = try indexChoice(index, terms) { choices.append(choice) }
        }
        return choices
    }

    // MARK: Keys and members

    /// True when lookups by ascending keys return the requested order: the fetch reads one table, which is ordered by key.
    var returnsKeyOrder: Bool { sorts.isEmpty && tables.count == 1 }

    var compiler: FilterCompiler? { tables.first.map { FilterCompiler(snapshot.reader, $0) } }

    private func keysChoice(_ position: Int, _ term: Term) throws(EngineError) -> AccessChoice? {
        guard term.path.isEmpty, term.modifier == .direct, [.equal, .in].contains(term.comparator),
            let keys = compiler?.objectKeys(term)?.keys
        else { return nil }
        return AccessChoice(
            .keys(keys.sorted(), via: nil), used: [position], entries: keys.count, isOrdered: returnsKeyOrder)
    }

    private func membersChoice(_ position: Int, _ term: Term) throws(EngineError) -> AccessChoice? {
        guard let name = term.key, term.modifier == .direct, [.equal, .in].contains(term.comparator),
            let link = mirror(of: name), let objects = compiler?.objectKeys(term), !objects.hasNull
        else { return nil }
        return try members(link, owners: objects.keys.sorted(), used: [position], via: nil)
    }

    /// The to-many that is the inverse of a to-one of the entity; nil when there is none.
    func mirror(of name: String) -> LinkIndex? {
        guard let property = entity.propertiesByName[name], property.isToOne, !property.isTransient,
            let inverse = property.inverse, inverse.isStoredToMany
        else { return nil }
        return schema.link(inverse)
    }

    func members(
        _ link: LinkIndex, owners: [UInt64], used: Set<Int>, via: FetchPredicate.Node?
    ) throws(EngineError) -> AccessChoice {
        let path = AccessPath.members(link, owners: owners, via: via)
        return AccessChoice(
            path, used: used, entries: try countEntries(path),
            isOrdered: returnsKeyOrder && owners.count == 1 && link.order == nil)
    }

    // MARK: Indexes

    private func indexChoice(
        _ index: ValueIndex, _ terms: [(position: Int, term: Term)]
    ) throws(EngineError) -> AccessChoice? {
        guard let (access, used) = try indexPath(index, terms) else { return nil }
        let path = AccessPath.index(access)
        return AccessChoice(path, used: used, entries: try countEntries(path), isOrdered: access.order != nil)
    }

    /// The exact number of entries in the ranges of an index, or of members.
    func countEntries(_ path: AccessPath) throws(EngineError) -> Int {
        var entries = 0
        switch path {
        case .index(let access):
            let view = try snapshot.engineSnapshot.index(access.index.tree)
            for range in access.ranges { entries += try view.count(in: range) }
        case .members(let link, let owners, _):
            let reader = try snapshot.members(link.relationship)
            for owner in owners { entries += try reader.count(owner: owner) }
        default: break
        }
        return entries
    }

    /// The ranges of an index that contain the results, and the conditions that they satisfy; nil if the index does not serve the request.
    func indexPath(
        _ index: ValueIndex, _ terms: [(position: Int, term: Term)]
    ) throws(EngineError) -> (access: IndexAccess, used: Set<Int>)? {
        guard index.isUsable(schema.catalogue), index.condition?.isImplied(by: conjuncts) ?? true else { return nil }
        let match = IndexMatch(index, terms, conjuncts, origins: snapshot.reader.origins, rangesMax: Self.rangesMax)
        guard match.count > 0 || !sorts.isEmpty else { return nil }
        // A unique index has no entries for rows with a null. Unless all elements have a condition, every row must have an entry.
        if index.isUnique, match.count < index.elements.count, try !containsAllRows(index) { return nil }
        let order = try order(of: index, match)
        if match.count == 0, order == nil { return nil }
        return (IndexAccess(index: index, ranges: match.ranges, isWhole: match.count == 0, order: order), match.used)
    }

    private func containsAllRows(_ index: ValueIndex) throws(EngineError) -> Bool {
        let rows = schema.tables(of: index.entity, includingSubentities: true)
            .reduce(0) { $0 + snapshot.view($1).count }
        return try snapshot.engineSnapshot.index(index.tree).count == rows
    }

    /// The direction in which the index returns the requested order, after its fixed components; nil when it does not.
    private func order(of index: ValueIndex, _ match: IndexMatch) throws(EngineError) -> IndexAccess.Order? {
        let rest = index.elements.dropFirst(match.fixedCount)
        guard !sorts.isEmpty, match.ranges.count <= 1, rest.count >= sorts.count else { return nil }
        if index.mayTruncateKeys, try snapshot.engineSnapshot.value(index.truncatedKeysName) != nil { return nil }
        var isForward = true
        var isBackward = true
        for (element, sort) in zip(rest, sorts) {
            guard sort.path.count == 1, sort.path[0] == element.property, sort.source == element.source,
                sort.collation == element.collation, element.type != .reference, element.type != .objectID
            else { return nil }
            isForward = isForward && element.isAscending == sort.isAscending
            isBackward = isBackward && element.isAscending != sort.isAscending
        }
        guard isForward || isBackward else { return nil }
        let isPartial = rest.count > sorts.count
        let isTied = isPartial || (!isForward && !index.isUnique)
        return IndexAccess.Order(isBackward: !isForward, tied: isTied ? match.fixedCount + sorts.count : nil)
    }
}

/// The ranges of an index that satisfy conditions.
private struct IndexMatch {
    private(set) var ranges: [KeyRange] = []
    private(set) var used: Set<Int> = []
    /// The number of elements that have a condition.
    private(set) var count = 0
    /// The number of elements with one or several fixed values instead of a range.
    private(set) var fixedCount = 0

    init(
        _ index: ValueIndex, _ terms: [(position: Int, term: PredicateAnalysis.Term)],
        _ conjuncts: [PredicateAnalysis.Conjunct], origins: StoreIdentities, rangesMax: Int
    ) {
        var prefixes: [[UInt8]] = [[]]
        for element in index.elements {
            let bounds = IndexBounds(element: element, origins: origins, containsNulls: !index.isUnique)
            guard let match = bounds.match(terms, conjuncts) else { break }
            if let equal = match.equal {
                let longest = (prefixes.map(\.count).max() ?? 0) + (equal.map(\.count).max() ?? 0)
                // A long key is truncated and then contains no further component.
                guard prefixes.count * equal.count <= rangesMax, longest <= IndexBounds.exactMax else { break }
                prefixes = prefixes.flatMap { prefix in equal.map { prefix + $0 } }
                count += 1
                fixedCount += 1
                used.formUnion(match.used)
            } else if let range = match.range {
                let bound = max(range.lower.count, range.upper?.count ?? 0)
                guard (prefixes.map(\.count).max() ?? 0) + bound <= IndexBounds.exactMax else { break }
                ranges = prefixes.compactMap { Self.keyRange($0, range) }
                count += 1
                used.formUnion(match.used)
                return
            }
        }
        ranges = prefixes.map { KeyRange(prefix: $0) }
    }

    /// Nil when the range is empty.
    private static func keyRange(_ prefix: [UInt8], _ range: (lower: [UInt8], upper: [UInt8]?)) -> KeyRange? {
        let upper = range.upper.map { prefix + $0 } ?? KeyRange.successor(of: prefix)
        let lower = prefix + range.lower
        if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
        return KeyRange(from: lower, to: upper)
    }
}

extension ValueIndex {
    /// False when the index was built with folding tables of another version.
    func isUsable(_ catalogue: Catalogue) -> Bool {
        catalogue.collation == Catalogue.currentCollation || elements.allSatisfy { $0.collation == .binary }
    }
}
