internal import HornbeamModel

extension ManagedObject {
    /// The results of a fetched property for this object, in the order of its request (REL-9).
    ///
    /// They are fetched at the first access and stored until the object becomes a fault or is refreshed; later saves
    /// do not change them. In the predicate, `$FETCH_SOURCE` is this object, and `$FETCHED_PROPERTY` is a dictionary with
    /// the `name` and the `userInfo` of the property.
    ///
    /// - Parameters:
    ///   - key: The name of the fetched property.
    ///   - type: The class of the objects.
    /// - Throws: `unknownKey` if the entity has no fetched property of that name; the errors of `fetch`; `unsupportedRequest`
    ///   if the object has no context.
    public final func fetchedObjects<Object: ManagedObject>(
        forKey key: String, as type: Object.Type = ManagedObject.self
    ) throws -> [Object] {
        guard let property = entity.fetchedPropertiesByName[key] else {
            throw unknownKey(key, among: entity.fetchedPropertiesByName.keys.sorted())
        }
        guard let context = managedObjectContext else {
            throw HornbeamError(
                .unsupportedRequest, "“\(entity.name).\(key)” cannot be fetched: the object no longer has a context.",
                entity: entity.name, key: key)
        }
        if let known = record?.fetched[key] {
            return try known.map { try context.typed(context.object(with: $0), property.request.fetchDescription()) }
        }
        let found: [Object] = try context.fetch(FetchRequest(request(of: property)))
        let record = self.record ?? ObjectRecord(propertyCount: scope.properties.count)
        record.fetched[key] = found.map(\.objectID)
        self.record = record
        return found
    }

    /// The property's request with its variables bound to this object.
    private func request(of property: FetchedPropertyDescription) throws -> FetchDescription {
        var request = try property.request.fetchDescription()
        request.resultType = .objects
        let description: [String: PropertyValue] = [
            "name": .string(property.name), "userInfo": .dictionary(property.userInfo.mapValues { .string($0) }),
        ]
        request.predicate = try request.predicate?
            .binding("FETCH_SOURCE", to: .object(self))
            .binding("FETCHED_PROPERTY", to: .value(.dictionary(description)))
        return request
    }
}
