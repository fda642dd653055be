internal import HornbeamEngine
internal import HornbeamModel

/// Executes the most common fetch, `property == value` with an index of that property, without the planner.
extension StoreSnapshot {
    /// The largest number of objects that this lookup returns. For more, the planner may find a better path.
    private static let foundMax = 1024

    /// Nil when the request has another form and must be planned.
    func lookUp(_ fetch: ValidatedFetch, excluding: Set<UInt64>) throws -> FetchAnswer? {
        let request = fetch.request
        guard let (name, value) = request.lookUp else { return nil }
        let entity = schema.model.entities[fetch.entity.index]
        guard let property = entity.propertiesByName[name], let index = schema.lookupIndex(of: property),
            entity.isKind(of: index.entity),
            let key = index.lookupKey(value, origins: reader.origins)
        else { return nil }
        let found = try EngineError.translated { () throws(EngineError) in
            index.isUnique ? try holder(of: key, index).map { [$0] } ?? [] : try holders(of: key, index)
        }
        guard let found else { return nil }
        var answer = FetchAnswer()
        var wanted = found.filter { reference in
            if excluding.contains(reference.key) { return false }
            guard index.isPolymorphic || index.entity !== entity else { return true }
            let concrete = schema.model.entities[Int(reference.entityIndex)]
            return concrete === entity || (request.includesSubentities && concrete.isKind(of: entity))
        }
        answer.work.lookUp = DirectLookup(entity: entity, index: index, count: wanted.count)
        if !request.window.isWhole { wanted = Array(request.window.of(wanted)) }
        answer.rows = ResultSet(wanted, wanted.count == 1 && request.resultType == .objects ? [try locate(wanted[0])] : [])
        return answer
    }

    /// The location of the row of a single result, so that its object needs no second lookup.
    private func locate(_ reference: ObjectReference) throws -> RowHint {
        var location = RowLocation()
        try EngineError.translated { () throws(EngineError) in
            try view(schema.table(at: reference.entityIndex)).locate(reference.key, &location)
        }
        return RowHint(location)
    }

    private func holder(of key: [UInt8], _ index: ValueIndex) throws(EngineError) -> ObjectReference? {
        let view = try engineSnapshot.index(index.tree)
        guard !index.isPolymorphic else {
            return try view.get(key).map { (value) throws(EngineError) in
                try UniqueKeys.holder(value, index, schema: schema)
            }
        }
        return unsafe try key.withRawBytes { (key) throws(EngineError) in
            unsafe try view.getObjectKey(key).map { ObjectReference(entityIndex: index.onlyEntity, key: $0) }
        }
    }

    /// The objects with a key, in ascending order of their object keys; nil when there are too many.
    private func holders(of key: [UInt8], _ index: ValueIndex) throws(EngineError) -> [ObjectReference]? {
        var found: [ObjectReference] = []
        unsafe try engineSnapshot.index(index.tree).forEach(in: KeyRange(prefix: key)) { (key, value) throws(EngineError) -> Bool in
            unsafe found.append(try index.reference(key, value, schema: schema))
            return found.count <= Self.foundMax
        }
        return found.count <= Self.foundMax ? found : nil
    }
}

extension ValueIndex {
    /// The key of a value in an index on one property; nil when the request must be planned.
    func lookupKey(_ value: PropertyValue, origins: StoreIdentities) -> [UInt8]? {
        if case .string(let text) = value, elements[0].type == .string {
            var key = IndexKey()
            var text = text
            text.withUTF8 { unsafe key.append(utf8: UnsafeRawBufferPointer($0), elements[0]) }
            return key.bytes.count <= IndexBounds.exactMax ? key.bytes : nil
        }
        let bounds = IndexBounds(element: elements[0], origins: origins, containsNulls: false)
        let node = FetchPredicate.Node.comparison(
            FetchPredicate.Comparison(.keyPath(elements[0].property.name), .equal, .constant(value)))
        guard let term = PredicateAnalysis.term(node), let match = bounds.match([(0, term)], []), let equal = match.equal, equal.count == 1 else { return nil }
        return equal[0]
    }
}

/// An executed lookup, formatted as text on request.
struct DirectLookup: Sendable {
    let entity: EntityDescription
    let index: ValueIndex
    let count: Int

    var plan: Plan {
        var plan = Plan()
        plan.entity = entity.name
        plan.access = "\(index.isUnique ? "unique index" : "index") \(index.title): \(count == 1 ? "1 entry" : "\(count) entries")"
        plan.order = "order by ID"
        return plan
    }
}
