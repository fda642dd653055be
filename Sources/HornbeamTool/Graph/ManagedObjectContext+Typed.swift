import Hornbeam

extension ManagedObjectContext {
    /// The object of that ID as a fault; never reads. Traps when it is of another class.
    func object<Object: ManagedObject>(_ type: Object.Type, with id: ManagedObjectID) -> Object {
        guard let object = object(with: id) as? Object else {
            preconditionFailure("The ID \(id) is not one of \(type).")
        }
        return object
    }
}
