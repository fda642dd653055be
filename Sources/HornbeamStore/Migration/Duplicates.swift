internal import HornbeamModel

/// The objects with the same unique value, one group for each value.
final class Duplicates {
    private var order: [[UInt8]] = []
    private var objects: [[UInt8]: [ObjectReference]] = [:]

    func add(_ object: ObjectReference, sharing key: [UInt8], with holder: ObjectReference) {
        if objects[key] == nil {
            guard order.count < MigrationBuild.violationsMax else { return }
            order.append(key)
            objects[key] = [holder]
        }
        objects[key]?.append(object)
    }

    /// One violation for each value.
    func violations(of index: ValueIndex, _ id: (ObjectReference) -> ManagedObjectID) -> [HornbeamError] {
        order.map { key in
            let group = objects[key]?.sorted() ?? []
            return HornbeamError(
                .constraintValidation, "\(group.count) objects have the same value for the new constraint \(index.title), which must be unique.",
                entity: index.entity.name, key: index.elements[0].name, objectIDs: group.map(id))
        }
    }
}
