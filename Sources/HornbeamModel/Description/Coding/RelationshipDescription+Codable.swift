extension RelationshipDescription: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case name, destination, inverse, toMany, ordered, optional, transient, minCount, maxCount, deleteRule, merge
        case renamedFrom, versionHashModifier, userInfo
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(destinationEntityName, forKey: .destination)
        try members.encodeIfPresent(inverseName, forKey: .inverse)
        try members.encode(isToMany, forKey: .toMany, unless: false)
        try members.encode(isOrdered, forKey: .ordered, unless: false)
        try members.encode(isOptional, forKey: .optional, unless: true)
        try members.encode(isTransient, forKey: .transient, unless: false)
        try members.encode(minCount, forKey: .minCount, unless: 0)
        try members.encode(maxCount, forKey: .maxCount, unless: isToMany ? 0 : 1)
        try members.encode(deleteRule, forKey: .deleteRule, unless: .nullify)
        try members.encodeIfPresent(mergeRule, forKey: .merge)
        try members.encodeIfPresent(renamingIdentifier, forKey: .renamedFrom)
        try members.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
        try members.encodeSorted(userInfo, forKey: .userInfo)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .name),
            to: try members.decode(String.self, forKey: .destination),
            inverse: try members.decodeIfPresent(String.self, forKey: .inverse),
            toMany: try members.decode(forKey: .toMany, default: false),
            ordered: try members.decode(forKey: .ordered, default: false),
            optional: try members.decode(forKey: .optional, default: true),
            transient: try members.decode(forKey: .transient, default: false),
            minCount: try members.decode(forKey: .minCount, default: 0),
            maxCount: try members.decodeIfPresent(Int.self, forKey: .maxCount),
            deleteRule: try members.decode(forKey: .deleteRule, default: .nullify),
            renamedFrom: try members.decodeIfPresent(String.self, forKey: .renamedFrom),
            userInfo: try members.decode(forKey: .userInfo, default: [:]))
        mergeRule = try members.decodeIfPresent(MergeRule.self, forKey: .merge)
        versionHashModifier = try members.decodeIfPresent(String.self, forKey: .versionHashModifier)
    }
}

extension FetchedPropertyDescription: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case name, request, optional, renamedFrom, versionHashModifier, userInfo
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(request, forKey: .request)
        try members.encode(isOptional, forKey: .optional, unless: true)
        try members.encodeIfPresent(renamingIdentifier, forKey: .renamedFrom)
        try members.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
        try members.encodeSorted(userInfo, forKey: .userInfo)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        name = try members.decode(String.self, forKey: .name)
        request = try members.decode(FetchRequestTemplate.self, forKey: .request)
        isOptional = try members.decode(forKey: .optional, default: true)
        renamingIdentifier = try members.decodeIfPresent(String.self, forKey: .renamedFrom)
        versionHashModifier = try members.decodeIfPresent(String.self, forKey: .versionHashModifier)
        userInfo = try members.decode(forKey: .userInfo, default: [:])
    }
}

extension FetchRequestTemplate: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case name, entity, predicate, sortedBy, limit, batchSize, result
        case includesSubentities, includesPropertyValues, includesPendingChanges
        case returnsObjectsAsFaults, returnsDistinctResults
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(entityName, forKey: .entity)
        try members.encodeIfPresent(predicate, forKey: .predicate)
        try members.encode(sortDescriptors, forKey: .sortedBy, unless: [])
        try members.encode(fetchLimit, forKey: .limit, unless: 0)
        try members.encode(fetchBatchSize, forKey: .batchSize, unless: 0)
        try members.encode(resultKind, forKey: .result, unless: .objects)
        try members.encode(includesSubentities, forKey: .includesSubentities, unless: true)
        try members.encode(includesPropertyValues, forKey: .includesPropertyValues, unless: true)
        try members.encode(includesPendingChanges, forKey: .includesPendingChanges, unless: true)
        try members.encode(returnsObjectsAsFaults, forKey: .returnsObjectsAsFaults, unless: true)
        try members.encode(returnsDistinctResults, forKey: .returnsDistinctResults, unless: false)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .name),
            entity: try members.decode(String.self, forKey: .entity),
            predicate: try members.decodeIfPresent(String.self, forKey: .predicate),
            sortedBy: try members.decode(forKey: .sortedBy, default: []),
            limit: try members.decode(forKey: .limit, default: 0))
        fetchBatchSize = try members.decode(forKey: .batchSize, default: 0)
        resultKind = try members.decode(forKey: .result, default: .objects)
        includesSubentities = try members.decode(forKey: .includesSubentities, default: true)
        includesPropertyValues = try members.decode(forKey: .includesPropertyValues, default: true)
        includesPendingChanges = try members.decode(forKey: .includesPendingChanges, default: true)
        returnsObjectsAsFaults = try members.decode(forKey: .returnsObjectsAsFaults, default: true)
        returnsDistinctResults = try members.decode(forKey: .returnsDistinctResults, default: false)
    }
}
