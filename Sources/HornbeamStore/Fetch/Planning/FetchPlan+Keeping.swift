internal import HornbeamEngine
internal import HornbeamModel

// The parts of a plan that a kept plan needs: its conditions as terms, and the plan without constants.

extension FetchPlan {
    /// The position of the only condition that an index satisfies, if it is equality with the index's only element; nil otherwise.
    func positionOfLookup(in index: ValueIndex, _ schema: Schema) -> Int? {
        guard choice.used.count == 1, let position = choice.used.first, let term = term(position), term.isPlainEquality,
            let property = entity.propertiesByName[term.key ?? ""], schema.lookupIndex(of: property) === index
        else { return nil }
        return position
    }

    /// True for a path over one index whose keys end with the objects of the only table, in the order of the results.
    func isDirect(_ path: KeptPlan.Path) -> Bool {
        func isOnly(_ index: ValueIndex) -> Bool {
            index.endsKeysWithObjects && tables.count == 1 && tables[0].index == index.onlyEntity && isRequested[Int(index.onlyEntity)]
        }
        switch path {
        case .lookUp(let index), .equal(let index, _): return isOnly(index) && sorts.isEmpty
        case .index(let index, let access):
            guard let order = access.order, !order.isBackward, order.tied == nil else { return false }
            return isOnly(index) && index.elements.count == 1 && index.isPlain && !access.isWhole
        case .members, .union: return false
        }
    }

    /// A condition as a term; nil if it has another form.
    func term(_ position: Int) -> PredicateAnalysis.Term? {
        if case .term(let term) = conjuncts[position] { term } else { nil }
    }

    /// The conditions without their constants, in the order of `constants`; nil if one has another form.
    func terms(of request: FetchDescription) -> [PredicateAnalysis.Term]? {
        var terms: [PredicateAnalysis.Term] = []
        for position in conjuncts.indices {
            guard var term = term(position) else { return nil }
            term.value = .null
            terms.append(term)
        }
        return request.constants.count == terms.count ? terms : nil
    }

    /// The plan without conditions, ranges and filters.
    var withoutConstants: FetchPlan {
        var plan = self
        plan.conjuncts = []
        plan.residual = []
        plan.filters = [Filter?](repeating: nil, count: filters.count)
        plan.choice.path = .nothing
        return plan
    }
}

extension IndexAccess {
    var withoutRanges: IndexAccess { IndexAccess(index: index, ranges: [], isWhole: isWhole, order: order) }
}

extension PredicateAnalysis.Term {
    /// True for equality of a single property with a value that is not nil.
    var isPlainEquality: Bool {
        comparator == .equal && options.isEmpty && modifier == .direct && key != nil && !value.isNull
    }
}

extension StoreSnapshot {
    /// A condition on a unique attribute at the end of a path, as a condition on the only object that has the value, so that the rows of that
    /// object's entity are not read. Other conditions are returned unchanged.
    func resolvingUniqueValue(
        _ condition: PredicateAnalysis.Conjunct, of entity: EntityDescription
    ) throws(EngineError) -> PredicateAnalysis.Conjunct {
        guard case .term(let term) = condition, term.comparator == .equal, term.options.isEmpty, term.modifier == .direct,
            !term.value.isNull, let names = term.names, names.count > 1
        else { return condition }
        var owner = entity
        for name in names.dropLast() {
            guard let property = owner.propertiesByName[name], property.isToOne, !property.isTransient,
                let next = property.destinationEntity
            else { return condition }
            owner = next
        }
        guard let property = owner.propertiesByName[names[names.count - 1]], let index = schema.lookupIndex(of: property), index.isUnique,
            !index.isPolymorphic, owner.isKind(of: index.entity), let key = index.lookupKey(term.value, origins: reader.origins)
        else { return condition }
        let found = unsafe try key.withRawBytes { (key) throws(EngineError) in
            unsafe try engineSnapshot.index(index.tree).getObjectKey(key)
        }
        guard let found else { return .other(.constant(false)) }
        var shorter = term
        shorter.path.removeLast()
        shorter.value = .objectID(reader.origins.objectID(ObjectReference(entityIndex: index.onlyEntity, key: found)))
        return .term(shorter)
    }
}
