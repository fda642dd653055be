internal import HornbeamEngine
internal import HornbeamModel

/// The commonest fetch of all, `unique == value`, without a planner: one look-up in the index.
extension StoreSnapshot {
    /// Nil when the request is not of that form; then it is planned.
    func lookUpUnique(_ request: FetchDescription, excluding: Set<UInt64>) throws -> FetchAnswer? {
        guard let (name, value) = request.lookUp else { return nil }
        let entity = try schema.model.entity(named: request.entityName)
        guard let property = entity.propertiesByName[name], let index = schema.uniqueIndex(of: property),
            entity.isKind(of: index.entity),
            let key = index.lookUpKey(value, origins: reader.origins)
        else { return nil }
        var answer = FetchAnswer()
        let found = try EngineError.translated { () throws(EngineError) in try holder(of: key, index) }
        if let found, !excluding.contains(found.key) {
            let concrete = schema.model.entities[Int(found.entityIndex)]
            if concrete == entity || (request.includesSubentities && concrete.isKind(of: entity)) {
                answer.references = [found]
            }
        }
        answer.lookUp = (entity.name, index, answer.references.count)
        return answer
    }

    private func holder(of key: [UInt8], _ index: ValueIndex) throws(EngineError) -> ObjectReference? {
        let view = try engineSnapshot.index(index.tree)
        guard !index.isPolymorphic else {
            return try view.get(key).map { (value) throws(EngineError) in
                try UniqueKeys.holder(value, index, schema: schema)
            }
        }
        return try key.lent { (key) throws(EngineError) in
            try view.getObjectKey(key).map { ObjectReference(entityIndex: index.onlyEntity, key: $0) }
        }
    }
}

extension ValueIndex {
    /// The key of a value in a constraint of one property; nil when a plan must see to it.
    func lookUpKey(_ value: PropertyValue, origins: StoreOrigins) -> [UInt8]? {
        if case .string(let text) = value, elements[0].type == .string {
            var key = IndexKey()
            var text = text
            text.withUTF8 { key.append(utf8: UnsafeRawBufferPointer($0), elements[0]) }
            return key.bytes.count <= IndexBounds.exactMax ? key.bytes : nil
        }
        let bounds = IndexBounds(element: elements[0], origins: origins, holdsNulls: false)
        let node = FetchPredicate.Node.comparison(
            FetchPredicate.Comparison(.keyPath(elements[0].property.name), .equal, .constant(value)))
        guard let term = PredicateAnalysis.term(node), let match = bounds.match([(0, term)], []), let equal = match.equal, equal.count == 1 else { return nil }
        return equal[0]
    }
}

extension FetchAnswer {
    /// The plan of a look-up, in words.
    static func plan(_ lookUp: (entity: String, index: ValueIndex, count: Int)) -> Plan {
        var plan = Plan()
        plan.entity = lookUp.entity
        plan.access = "unique index \(lookUp.index.title): \(lookUp.count == 1 ? "1 entry" : "\(lookUp.count) entries")"
        plan.order = "order by ID"
        return plan
    }
}
