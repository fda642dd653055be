import Hornbeam

extension RandomVersion {
    mutating func addEntity() {
        let name = newName("E")
        let parent = chance() ? pick(definition.entities)?.name : nil
        definition.entities.append(Entity(name, parent: parent))
        recordAdded(name)
        note("add \(name)" + (parent.map { " below \($0)" } ?? ""))
    }

    mutating func removeEntity() {
        let leaves = definition.entities.filter { entity in !definition.entities.contains { $0.superentityName == entity.name } }
        guard definition.entities.count > 2, let entity = pick(leaves) else { return }
        for relationship in allRelationships() where relationship.destination == entity.name || relationship.entity == entity.name {
            remove(relationship.name, of: relationship.entity)
        }
        definition.entities.remove(at: index(entity.name))
        let gone = Set(plain.objects.filter { $0.value.entity == entity.name }.keys)
        for key in gone { plain.objects[key] = nil }
        for key in plain.objects.keys { plain.objects[key]!.links = plain.objects[key]!.links.mapValues { $0.filter { !gone.contains($0) } } }
        note("remove \(entity.name)")
    }

    mutating func renameEntity() {
        let candidates = definition.entities.filter { !isAdded($0.name) && $0.renamingIdentifier == nil }
        guard let old = pick(candidates)?.name else { return }
        let name = newName("E")
        definition.entities[index(old)].renamingIdentifier = old
        definition.entities[index(old)].name = name
        for entity in definition.entities.indices {
            if definition.entities[entity].superentityName == old { definition.entities[entity].superentityName = name }
            for place in definition.entities[entity].relationships.indices
            where definition.entities[entity].relationships[place].destinationEntityName == old {
                definition.entities[entity].relationships[place].destinationEntityName = name
            }
        }
        forEachObject(of: [old]) { $0.entity = name }
        note("rename \(old) to \(name)")
    }

    /// Makes an entity without a parent a subentity of another one. It inherits the attributes and relationships of its new ancestors.
    mutating func changeParent() {
        let roots = definition.entities.filter { $0.superentityName == nil }
        guard let entity = pick(roots), let parent = pick(definition.entities.filter { !family(entity.name).contains($0.name) }) else { return }
        let inherited = ancestors(parent.name)
        definition.entities[index(entity.name)].superentityName = parent.name
        forEachObject(of: family(entity.name)) { object in
            for attribute in inherited.flatMap(\.attributes) { object.values[attribute.name] = attribute.defaultValue }
            for relationship in inherited.flatMap(\.relationships) { object.links[relationship.name] = [] }
        }
        for index in inherited.flatMap(\.uniquenessConstraints).flatMap(\.self) { dropIndexes(of: index) }
        note("put \(entity.name) below \(parent.name)")
    }

    private func ancestors(_ name: String) -> [Entity] {
        let entity = definition.entities[index(name)]
        return [entity] + (entity.superentityName.map(ancestors) ?? [])
    }
}
