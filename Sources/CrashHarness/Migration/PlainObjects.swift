import Hornbeam

/// An object of a store as plain values.
struct PlainObject: Equatable {
    var entity: String
    var values: [String: PropertyValue] = [:]
    /// The keys of related objects, by relationship. In order if the relationship is ordered, otherwise ascending.
    var links: [String: [UInt64]] = [:]
}

/// All objects of a store, by key.
struct PlainObjects: Equatable {
    var objects: [UInt64: PlainObject] = [:]

    /// Reads the content of a context, property by property.
    static func read(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> PlainObjects {
        var result = PlainObjects()
        for entity in model.entities where !entity.isAbstract {
            var request = FetchRequest<ManagedObject>(entityName: entity.name)
            request.includesSubentities = false
            for object in try context.fetch(request) {
                var plain = PlainObject(entity: entity.name)
                for property in entity.properties {
                    let value = try object.value(forKey: property.name)
                    if property.isAttribute { plain.values[property.name] = value } else { plain.links[property.name] = keys(value, property) }
                }
                result.objects[object.objectID.reference] = plain
            }
        }
        result.removeMissingLinks()
        return result
    }

    /// Removes the keys of deleted objects, because a to-one relationship can still have the ID of one.
    mutating func removeMissingLinks() {
        let known = Set(objects.keys)
        for key in known { objects[key]!.links = objects[key]!.links.mapValues { $0.filter(known.contains) } }
    }

    private static func keys(_ value: PropertyValue, _ property: PropertyDescription) -> [UInt64] {
        var keys: [UInt64] = []
        switch value {
        case .objectID(let id): keys = [id.reference]
        case .array(let values): keys = values.compactMap(\.reference)
        case .set(let values): keys = values.compactMap(\.reference)
        default: break
        }
        return property.isOrdered ? keys : keys.sorted()
    }

    /// Describes the first difference from other objects; nil if there is none.
    func difference(to other: PlainObjects) -> String? {
        for key in Set(objects.keys).union(other.objects.keys).sorted() where objects[key] != other.objects[key] {
            return "object \(key) is \(String(describing: objects[key])) and should be \(String(describing: other.objects[key]))"
        }
        return nil
    }
}

extension PropertyValue {
    fileprivate var reference: UInt64? {
        if case .objectID(let id) = self { id.reference } else { nil }
    }
}
