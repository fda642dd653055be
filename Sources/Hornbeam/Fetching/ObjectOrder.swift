internal import HornbeamModel

/// The order of a request for objects in memory: its sort criteria, then the IDs.
struct ObjectOrder {
    private let sorts: [FetchSort]

    init(_ sorts: [FetchSort]) { self.sorts = sorts }

    func precedes(_ a: ManagedObject, _ b: ManagedObject) throws -> Bool {
        for sort in sorts {
            switch sort.order(try a.value(of: sort), try b.value(of: sort)) {
            case .less: return true
            case .greater: return false
            case .same: continue
            }
        }
        return a.registryKey < b.registryKey
    }

    func sorted(_ objects: [ManagedObject]) throws -> [ManagedObject] {
        try objects.sorted(by: precedes)
    }
}

extension ManagedObject {
    /// The value of a sort criterion; null if an object on the path is missing or deleted.
    fileprivate func value(of sort: FetchSort) throws -> PropertyValue {
        try sort.key(of: .object(self), sort.steps)
    }
}
