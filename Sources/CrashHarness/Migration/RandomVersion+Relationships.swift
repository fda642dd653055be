import Hornbeam

extension RandomVersion {
    func allRelationships() -> [(entity: String, name: String, destination: String)] {
        definition.entities.flatMap { entity in entity.relationships.map { (entity.name, $0.name, $0.destinationEntityName) } }
    }

    private func relationships(where isWanted: (RelationshipDescription) -> Bool) -> [(entity: Int, place: Int)] {
        definition.entities.indices.flatMap { entity in
            definition.entities[entity].relationships.indices
                .filter { isWanted(definition.entities[entity].relationships[$0]) }.map { (entity, $0) }
        }
    }

    mutating func addRelationship() {
        guard let owner = pick(definition.entities)?.name, let destination = pick(definition.entities)?.name else { return }
        let name = newName("r")
        let inverse = chance() ? newName("r") : nil
        var relationship = RelationshipDescription(name, to: destination, inverse: inverse, toMany: chance())
        relationship.isOrdered = relationship.isToMany && chance()
        definition.entities[index(owner)].relationships.append(relationship)
        forEachObject(of: family(owner)) { $0.links[name] = [] }
        recordAdded(name)
        if let inverse {
            let back = RelationshipDescription(inverse, to: owner, inverse: name, toMany: chance())
            definition.entities[index(destination)].relationships.append(back)
            forEachObject(of: family(destination)) { $0.links[inverse] = [] }
            recordAdded(inverse)
        }
        note("add \(owner).\(name) to \(destination)" + (inverse.map { ", inverse \($0)" } ?? ""))
    }

    mutating func removeRelationship() {
        guard let relationship = pick(allRelationships()) else { return }
        remove(relationship.name, of: relationship.entity)
        note("remove \(relationship.entity).\(relationship.name)")
    }

    /// Removes a relationship and its inverse.
    mutating func remove(_ name: String, of entity: String) {
        guard let place = definition.entities[index(entity)].relationships.firstIndex(where: { $0.name == name }) else { return }
        let relationship = definition.entities[index(entity)].relationships.remove(at: place)
        forEachObject(of: family(entity)) { $0.links[name] = nil }
        if let inverse = relationship.inverseName { remove(inverse, of: relationship.destinationEntityName) }
    }

    mutating func makeToMany() {
        guard let (entity, place) = pick(relationships { !$0.isToMany }) else { return }
        definition.entities[entity].relationships[place].isToMany = true
        definition.entities[entity].relationships[place].maxCount = 0
        note("\(definition.entities[entity].relationships[place].name) is to many")
    }

    mutating func changeOrder() {
        guard let (entity, place) = pick(relationships { $0.isToMany && !isAdded("order \($0.name)") }) else { return }
        let name = definition.entities[entity].relationships[place].name
        definition.entities[entity].relationships[place].isOrdered.toggle()
        forEachObject(of: family(definition.entities[entity].name)) { $0.links[name]?.sort() }
        recordAdded("order \(name)")
        note("\(name) is \(definition.entities[entity].relationships[place].isOrdered ? "ordered" : "unordered")")
    }

    mutating func addInverse() {
        guard let (entity, place) = pick(relationships { $0.inverseName == nil }) else { return }
        let owner = definition.entities[entity].name
        let relationship = definition.entities[entity].relationships[place]
        let name = newName("r")
        definition.entities[entity].relationships[place].inverseName = name
        definition.entities[index(relationship.destinationEntityName)].relationships.append(
            RelationshipDescription(name, to: owner, inverse: relationship.name, toMany: true))
        forEachObject(of: family(relationship.destinationEntityName)) { $0.links[name] = [] }
        for (key, object) in plain.objects.sorted(by: { $0.key < $1.key }) {
            for target in object.links[relationship.name] ?? [] { plain.objects[target]?.links[name]?.append(key) }
        }
        recordAdded(name)
        note("add the inverse \(name) of \(owner).\(relationship.name)")
    }

    // MARK: Relationships that a mapping empties

    /// The key in the user info of a relationship that the mapping to this version leaves empty. A child process reads it from the model.
    static let emptyMark = "empty"

    /// Empties a relationship and its inverse. Only the relationship is declared, so that the mapping of the inverse is inferred.
    mutating func emptyRelationship() {
        guard let (entity, place) = pick(relationships { !isAdded($0.name) }) else { return }
        let relationship = definition.entities[entity].relationships[place]
        definition.entities[entity].relationships[place].userInfo[Self.emptyMark] = "yes"
        forEachObject(of: family(definition.entities[entity].name)) { $0.links[relationship.name] = [] }
        if let inverse = relationship.inverseName {
            forEachObject(of: family(relationship.destinationEntityName)) { $0.links[inverse] = [] }
        }
        note("empty \(definition.entities[entity].name).\(relationship.name)")
    }

    /// The mappings that a plan to a version declares.
    static func declarations(in model: ManagedObjectModel) -> [EntityMapping] {
        model.definition.entities.compactMap { entity in
            let names = entity.relationships.filter { $0.userInfo[emptyMark] != nil }.map(\.name)
            return names.isEmpty ? nil : EntityMapping(to: entity.name, names.map { PropertyMapping($0, from: .empty) })
        }
    }
}
