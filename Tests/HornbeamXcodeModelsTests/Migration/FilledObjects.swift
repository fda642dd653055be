import Foundation
import Hornbeam

/// Objects of every entity of a model, with made values that keep its rules and are the same in each run.
enum FilledObjects {
    /// Of each entity that is not abstract. The n-th objects of all entities belong together.
    static let perEntity = 3

    static func insert(into context: ManagedObjectContext, _ model: ManagedObjectModel) throws {
        var objects: [String: [ManagedObject]] = [:]
        for (place, entity) in model.entities.filter({ !$0.isAbstract }).enumerated() {
            for number in 0 ..< perEntity {
                let object = try context.insert(entityNamed: entity.name)
                for attribute in entity.attributes where !attribute.isTransient && !attribute.isDerived {
                    let isLeftOut = attribute.isOptional && number == 1
                    try object.setValue(isLeftOut ? .null : value(of: attribute, place * 100 + number), forKey: attribute.name)
                }
                objects[entity.name, default: []].append(object)
            }
        }
        for entity in model.entities where !entity.isAbstract {
            for relationship in entity.relationships where !relationship.isTransient {
                guard let destination = relationship.destinationEntity?.concreteDescendants.first else { continue }
                for (object, target) in zip(objects[entity.name] ?? [], objects[destination.name] ?? []) {
                    let id = PropertyValue.objectID(target.objectID)
                    let members: PropertyValue = relationship.isOrdered ? .array([id]) : .set([id])
                    try object.setValue(relationship.isToMany ? members : id, forKey: relationship.name)
                }
            }
        }
        try context.save()
    }

    /// A value of its own for each number; null for a type that only code can make.
    private static func value(of attribute: PropertyDescription, _ number: Int) -> PropertyValue {
        switch attribute.attributeType {
        case .integer16, .integer32, .integer64: .int(Int64(number))
        case .double, .float: .double(Double(number) + 0.5)
        case .decimal: .decimal(Decimal(number) / 100)
        case .boolean: .bool(number % 2 == 0)
        case .string: .string("\(attribute.name) \(number)")
        case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number) * 86_400))
        case .binary: .data(Data([UInt8(number % 256), 0, 255]))
        case .uuid: .uuid(UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(number % 256))))
        default: .null
        }
    }
}

/// All objects of a store as plain values, by the last part of their URIs, which does not name the entity.
struct PlainObjects: Equatable {
    struct Object: Equatable {
        var entity: String
        var values: [String: PropertyValue] = [:]
        var links: [String: [String]] = [:]
    }

    var objects: [String: Object] = [:]

    init(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws {
        for entity in model.entities where !entity.isAbstract {
            var request = FetchRequest<ManagedObject>(entityName: entity.name)
            request.includesSubentities = false
            for object in try context.fetch(request) {
                var plain = Object(entity: entity.name)
                for property in entity.properties where !property.isTransient {
                    let value = try object.value(forKey: property.name)
                    if property.isAttribute { plain.values[property.name] = value } else { plain.links[property.name] = Self.names(value) }
                }
                objects[Self.name(object.objectID)] = plain
            }
        }
    }

    private static func name(_ id: ManagedObjectID) -> String { id.uriRepresentation().lastPathComponent }

    private static func names(_ value: PropertyValue) -> [String] {
        switch value {
        case .objectID(let id): [name(id)]
        case .array(let values): values.flatMap(names)
        case .set(let values): values.flatMap(names).sorted()
        default: []
        }
    }

    /// These objects as a mapping changes them.
    func migrated(by mapping: MappingModel) -> PlainObjects {
        var result = self
        result.objects = [:]
        for (name, object) in objects {
            let found = mapping.entityMappings.first { $0.sourceEntityName == object.entity }
            guard let entity = found?.destinationEntityName.flatMap({ mapping.destination.entitiesByName[$0] }), let found else { continue }
            var new = Object(entity: entity.name)
            for attribute in entity.attributes where !attribute.isTransient {
                let old = found.mapping(ofPropertyNamed: attribute.name)?.sourceName.flatMap { object.values[$0] } ?? .null
                new.values[attribute.name] = old.isNull && (found.isNew(attribute) || !attribute.isOptional) ? attribute.defaultValue : old
            }
            for relationship in entity.relationships where !relationship.isTransient {
                new.links[relationship.name] = found.mapping(ofPropertyNamed: relationship.name)?.sourceName.flatMap { object.links[$0] } ?? []
            }
            result.objects[name] = new
        }
        for name in result.objects.keys {
            let kept = result.objects[name]?.links.mapValues { $0.filter { result.objects[$0] != nil } } ?? [:]
            result.objects[name]?.links = kept
        }
        return result
    }
}

extension EntityMapping {
    fileprivate func isNew(_ property: PropertyDescription) -> Bool { mapping(ofPropertyNamed: property.name)?.sourceName == nil }
}
