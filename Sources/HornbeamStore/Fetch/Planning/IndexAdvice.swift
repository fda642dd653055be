internal import HornbeamEngine
package import HornbeamModel

/// Recommends a fetch index for a fetch that reads many rows for few results.
package struct IndexAdvice: Sendable, Hashable {
    package let entity: String
    package let elements: [FetchIndexElement]
    /// The approximate number of entries that the fetch would walk.
    package let entries: Int
    /// The number of rows that the fetch reads without the index.
    package let rows: Int
}

extension IndexAdvice: CustomStringConvertible {
    /// `an index on Event(magnitude, name[cd]) would lead to about 12 entries instead of 1000000 rows`
    package var description: String {
        let parts = elements.map { element in
            element.property + (element.isAscending ? "" : " desc") + KeyCollation(element.collation).suffix
        }
        let walked = entries == 1 ? "1 entry" : "\(entries) entries"
        return "an index on \(entity)(\(parts.joined(separator: ", "))) would lead to about \(walked) instead of \(rows) rows"
    }
}

/// Finds an index that would make a fetch faster.
struct IndexAdvisor {
    typealias Term = PredicateAnalysis.Term

    /// Fetches that read fewer rows are fast without an index.
    private static let rowsMin = 1_000
    /// An index is recommended if at most this share of the rows remains. Otherwise its maintenance costs more than it saves.
    private static let shareMax = 0.1

    let plan: FetchPlan
    let snapshot: StoreSnapshot

    func advice() throws(EngineError) -> IndexAdvice? {
        guard !plan.choice.isOrdered || plan.sorts.isEmpty, plan.choice.entries >= Self.rowsMin else { return nil }
        let (elements, terms) = wanted
        guard !elements.isEmpty, !indexExists(elements) else { return nil }
        let rows = plan.choice.entries
        var entries = terms.isEmpty ? rows : Int(try share(terms) * Double(rows))
        // A walk in order ends with the last result that is needed.
        if terms.count == plan.residual.count, elements.count > terms.count, let kept = plan.window.end { entries = min(entries, kept) }
        guard Double(entries) <= Double(rows) * Self.shareMax else { return nil }
        return IndexAdvice(entity: plan.entity.name, elements: elements, entries: max(entries, 1), rows: rows)
    }

    // MARK: The elements of the index

    /// The properties with an equality condition, followed by one property with a range, or by the sort properties.
    private var wanted: (elements: [FetchIndexElement], terms: [Term]) {
        var elements: [FetchIndexElement] = []
        var terms: [Term] = []
        for wantsEquality in [true, false] {
            for case .term(let term) in plan.residual where isEquality(term) == wantsEquality && (wantsEquality || elements.count == terms.count) {
                guard let element = element(of: term), !elements.contains(where: { $0.property == element.property }) else { continue }
                elements.append(element)
                terms.append(term)
                if !wantsEquality { return (elements, terms) }
            }
        }
        for sort in plan.sorts {
            guard sort.path.count == 1, let collation = sort.collation.indexCollation, sort.source == .cell else { return (elements, terms) }
            let name = sort.path[0].name
            guard !elements.contains(where: { $0.property == name }) else { return (elements, terms) }
            elements.append(FetchIndexElement(name, ascending: sort.isAscending, collation: collation))
        }
        return (elements, terms)
    }

    private func isEquality(_ term: Term) -> Bool { term.comparator == .equal || term.comparator == .in }

    /// Nil for a term that no index supports.
    private func element(of term: Term) -> FetchIndexElement? {
        guard term.modifier == .direct, let name = term.key, let property = plan.entity.propertiesByName[name],
            let type = property.cellType, type != .reference, type != .composite, !property.isTransient
        else { return nil }
        let collations: [IndexCollation] = type == .string ? IndexCollation.allCases : [.binary]
        for collation in collations {
            let element = ValueIndex.Element(
                property: property, type: type, isAscending: true, collation: KeyCollation(collation))
            let bounds = IndexBounds(element: element, origins: snapshot.reader.origins, containsNulls: true)
            if bounds.match([(0, term)], []) != nil { return FetchIndexElement(name, collation: collation) }
        }
        return nil
    }

    /// True when such an index exists. The planner has then rejected it.
    private func indexExists(_ elements: [FetchIndexElement]) -> Bool {
        snapshot.schema.indexes.contains { index in
            plan.entity.isKind(of: index.entity) && index.condition == nil
                && index.elements.prefix(elements.count).map(\.name) == elements.map(\.property)
        }
    }

    private func share(_ terms: [Term]) throws(EngineError) -> Double {
        var filters = [Filter?](repeating: nil, count: snapshot.schema.tables.count)
        for table in plan.tables {
            filters[Int(table.index)] = FilterCompiler(snapshot.reader, table).compile(terms.map { .term($0) })
        }
        return try Selectivity(snapshot, plan.tables).estimate(filters)
    }
}

extension KeyCollation {
    /// Nil for a comparison that no index supports.
    fileprivate var indexCollation: IndexCollation? {
        switch self {
        case .binary: .binary
        case .caseInsensitive: .caseInsensitive
        case .diacriticInsensitive: .diacriticInsensitive
        case .caseAndDiacriticInsensitive: .caseAndDiacriticInsensitive
        case .localizedStandard: nil
        }
    }
}
