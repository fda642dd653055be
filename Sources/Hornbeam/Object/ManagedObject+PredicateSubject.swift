internal import Foundation
public import HornbeamModel
internal import HornbeamStore

extension ManagedSet: CountedMembers {}
extension ManagedArray: CountedMembers {}

/// `FetchPredicate(#Predicate<Event> { $0.latitude > 37 })` works on classes whose accessors read one token each.
extension ManagedObject: PredicateSubject {
    /// The keys that a key path from this class reads: one, or none for `\.self` and `\.objectID`.
    ///
    /// Accessors of to-one relationships must return an optional, because the probe has no object to return.
    /// - Throws: `predicateInvalid` if the accessor reads no property of the model, or several.
    public class func predicateKeys(along keyPath: AnyKeyPath) throws -> [String] {
        let probe = PropertyProbe()
        let object = self.init(try probe.birth(of: self))
        let value = object[keyPath: keyPath]
        if probe.names.count == 1 { return probe.names }
        if probe.names.isEmpty, (value as? ManagedObjectID) == object.objectID || (value as AnyObject) === object { return [] }
        let read = probe.names.isEmpty ? "no property of the model" : "several properties (\(probe.names.joined(separator: ", ")))"
        throw HornbeamError(
            .predicateInvalid,
            "The #Predicate uses a member of \(self) that reads \(read), which a store cannot evaluate. Write this part "
                + "with the properties themselves, or filter the fetched objects.",
            entity: entityName)
    }
}

extension PropertyProbe {
    /// The initial state of an object whose reads this probe records.
    fileprivate func birth(of type: ManagedObject.Type) throws -> ObjectBirth {
        let coordinator = try Self.coordinator.get()
        let scope = EntityScope(
            entity: coordinator.managedObjectModel.entities[0], slot: StoreSlot(0), objectClass: type,
            origin: .init(entityName: "Probe", storeIdentifier: nil, entityNumber: -1),
            context: ManagedObjectContext(coordinator: coordinator, detachedReaderOn: nil))
        scope.probe = self
        return ObjectBirth(scope: scope, key: 0, hint: RowHint(), state: .gone)
    }

    private static let coordinator = Result {
        let property = AttributeDescription("_", .undefined, optional: true, transient: true)
        let model = try ManagedObjectModel(entities: [Entity("Probe", attributes: [property])])
        return try PersistentStoreCoordinator(managedObjectModel: model)
    }
}
