import Hornbeam

extension ManagedObjectContext {
    /// The object with an ID, as a fault; never reads from the store. An object of another class is a programmer error.
    func object<Object: ManagedObject>(_ type: Object.Type, with id: ManagedObjectID) -> Object {
        guard let object = object(with: id) as? Object else {
            preconditionFailure("The ID \(id) is not one of \(type).")
        }
        return object
    }
}
