import Foundation
import HornbeamModel

/// A named object graph of the shared cases, with a compiled model of its entities.
final class Fixture {
    let model: ManagedObjectModel
    private(set) var objects: [FixtureObject] = []
    private var byID: [String: FixtureObject] = [:]

    static let all: CaseValue = {
        let data = try? Data(contentsOf: CaseFile.folder.appending(path: "fixtures.json"))
        return data.flatMap { try? JSONDecoder().decode(CaseValue.self, from: $0) } ?? .null
    }()

    init(_ name: String) throws {
        let fixture = Self.all[name] ?? .null
        model = try ManagedObjectModel(entities: Self.entities(fixture["entities"]?.object ?? [:]))
        for (number, entry) in (fixture["objects"]?.list ?? []).enumerated() {
            let entity = try model.entity(named: entry["entity"]?.text ?? "")
            let object = FixtureObject(id: entry["id"]?.text ?? "", entity: entity, number: number)
            objects.append(object)
            byID[object.id] = object
        }
        for (object, entry) in zip(objects, fixture["objects"]?.list ?? []) {
            for (key, value) in entry["values"]?.object ?? [:] { set(value, key, of: object) }
        }
    }

    func identity(_ id: String) -> PropertyValue { byID[id].map { .objectID($0.objectID) } ?? .null }

    private func set(_ value: CaseValue, _ key: String, of object: FixtureObject) {
        guard let property = object.entity.relationshipsByName[key] else {
            object.values[key] = value.propertyValue()
            return
        }
        let content = value.tag == "ref" ? [value] : (value["v"]?.list ?? value.list ?? [])
        for target in content.compactMap({ byID[$0["v"]?.text ?? ""] }) {
            object.targets[key, default: []].append(target)
            if let inverse = property.inverse { target.targets[inverse.name, default: []].append(object) }
        }
    }

    private static func entities(_ entities: [String: CaseValue]) -> [Entity] {
        entities.sorted { $0.key < $1.key }.map { name, content in
            Entity(
                name,
                attributes: (content["attributes"]?.object ?? [:]).sorted { $0.key < $1.key }.map { key, type in
                    AttributeDescription(key, attributeType(type.text ?? ""), optional: true)
                },
                relationships: relationships(name, entities))
        }
    }

    /// Both ends: those declared in this entity, and the inverses that others declare.
    private static func relationships(_ name: String, _ entities: [String: CaseValue]) -> [RelationshipDescription] {
        var found: [String: RelationshipDescription] = [:]
        for (other, content) in entities {
            for (key, value) in content["relationships"]?.object ?? [:] {
                let inverse = value["inverse"]?.text
                if other == name {
                    found[key] = RelationshipDescription(
                        key, to: value["destination"]?.text ?? "", inverse: inverse,
                        toMany: value["toMany"]?.flag ?? false, ordered: value["ordered"]?.flag ?? false)
                } else if value["destination"]?.text == name, let inverse, found[inverse] == nil {
                    found[inverse] = RelationshipDescription(inverse, to: other, inverse: key, toMany: true)
                }
            }
        }
        return found.values.sorted { $0.name < $1.name }
    }

    private static func attributeType(_ text: String) -> AttributeType {
        switch text.replacingOccurrences(of: "?", with: "") {
        case "int16": .integer16
        case "int32": .integer32
        case "int64", "int": .integer64
        case "float": .float
        case "double": .double
        case "decimal": .decimal
        case "bool": .boolean
        case "date": .date
        case "binary", "data": .binary
        case "uuid": .uuid
        default: .string
        }
    }
}

/// One object of a fixture, with values by key like a managed object.
final class FixtureObject: KeyedValues {
    let id: String
    let entity: EntityDescription
    let objectID: ManagedObjectID
    var values: [String: PropertyValue] = [:]
    var targets: [String: [FixtureObject]] = [:]

    init(id: String, entity: EntityDescription, number: Int) {
        self.id = id
        self.entity = entity
        let store = UUID(uuidString: "00000000-0000-0000-0000-000000000001")
        objectID = ManagedObjectID(
            origin: .init(entityName: entity.name, storeIdentifier: store, entityNumber: entity.index),
            reference: UInt64(number + 1))
    }

    var evaluatedIdentity: PropertyValue? { .objectID(objectID) }
    var evaluatedKeys: [String]? { entity.attributes.map(\.name) }

    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        let property = try entity.property(named: key)
        guard property.isRelationship else { return .value(values[key] ?? .null) }
        let objects = targets[key] ?? []
        if property.isToMany { return .collection(objects.map { .object($0) }, isOrdered: property.isOrdered) }
        return objects.first.map { .object($0) } ?? .value(.null)
    }
}
