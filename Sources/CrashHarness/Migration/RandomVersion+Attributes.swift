import Hornbeam

extension RandomVersion {
    private static let types: [(AttributeType, PropertyValue)] = [
        (.integer16, 7), (.integer32, -3), (.integer64, .int(1 << 40)), (.double, .double(0.5)), (.string, "default"), (.boolean, true),
    ]

    /// The attributes that satisfy a condition, each with the indexes of its entity and of itself.
    private func attributes(where isWanted: (Entity, AttributeDescription) -> Bool) -> [(entity: Int, place: Int)] {
        definition.entities.indices.flatMap { entity in
            definition.entities[entity].attributes.indices
                .filter { isWanted(definition.entities[entity], definition.entities[entity].attributes[$0]) }
                .map { (entity, $0) }
        }
    }

    mutating func addAttribute() {
        guard let entity = pick(definition.entities.indices), let (type, value) = pick(Self.types) else { return }
        let name = newName("a")
        let isOptional = chance()
        let attribute = AttributeDescription(name, type, optional: isOptional, default: isOptional && chance() ? .null : value)
        definition.entities[entity].attributes.append(attribute)
        forEachObject(of: family(definition.entities[entity].name)) { $0.values[name] = attribute.defaultValue }
        recordAdded(name)
        note("add \(definition.entities[entity].name).\(name)")
    }

    mutating func removeAttribute() {
        guard let (entity, place) = pick(attributes { _, _ in true }) else { return }
        let attribute = definition.entities[entity].attributes.remove(at: place)
        dropIndexes(of: attribute.name)
        forEachObject(of: family(definition.entities[entity].name)) { $0.values[attribute.name] = nil }
        note("remove \(definition.entities[entity].name).\(attribute.name)")
    }

    mutating func renameAttribute() {
        guard let (entity, place) = pick(attributes { _, attribute in isRenamable(attribute) }) else { return }
        if chance(), let (entity, place, other) = exchangeable() { return exchange(place, other, in: entity) }
        let old = definition.entities[entity].attributes[place].name
        let name = newName("a")
        dropIndexes(of: old)
        definition.entities[entity].attributes[place].name = name
        definition.entities[entity].attributes[place].renamingIdentifier = old
        if isAdded("optional \(old)") { recordAdded("optional \(name)") }
        forEachObject(of: family(definition.entities[entity].name)) { $0.values[name] = $0.values.removeValue(forKey: old) }
        note("rename \(definition.entities[entity].name).\(old) to \(name)")
    }

    /// Two attributes of an entity that can exchange their names with equal version hashes.
    private func exchangeable() -> (entity: Int, place: Int, other: Int)? {
        for entity in definition.entities.indices {
            let attributes = definition.entities[entity].attributes
            for place in attributes.indices where isRenamable(attributes[place]) {
                let other = attributes.indices.first { other in
                    other > place && attributes[other].type == attributes[place].type && attributes[other].isOptional == attributes[place].isOptional
                        && isRenamable(attributes[other])
                }
                if let other { return (entity, place, other) }
            }
        }
        return nil
    }

    private func isRenamable(_ attribute: AttributeDescription) -> Bool {
        !isAdded(attribute.name) && attribute.renamingIdentifier == nil && !wasExchanged(attribute.name)
    }

    private mutating func exchange(_ place: Int, _ other: Int, in entity: Int) {
        let (one, two) = (definition.entities[entity].attributes[place].name, definition.entities[entity].attributes[other].name)
        for (position, name, old) in [(place, two, one), (other, one, two)] {
            dropIndexes(of: name)
            definition.entities[entity].attributes[position].name = name
            definition.entities[entity].attributes[position].renamingIdentifier = old
            recordAdded(name)
            recordAdded("optional \(name)")
        }
        forEachObject(of: family(definition.entities[entity].name)) { object in
            (object.values[one], object.values[two]) = (object.values[two], object.values[one])
        }
        recordExchange([one, two])
        note("exchange \(definition.entities[entity].name).\(one) and \(two)")
    }

    mutating func changeOptionality() {
        guard let (entity, place) = pick(attributes { _, attribute in !isAdded("optional \(attribute.name)") }) else { return }
        var attribute = definition.entities[entity].attributes[place]
        attribute.isOptional.toggle()
        if !attribute.isOptional {
            dropIndexes(of: attribute.name)
            if attribute.defaultValue.isNull { attribute.defaultValue = Self.types.first { $0.0 == attribute.type }!.1 }
            forEachObject(of: family(definition.entities[entity].name)) { object in
                if object.values[attribute.name]!.isNull { object.values[attribute.name] = attribute.defaultValue }
            }
        }
        definition.entities[entity].attributes[place] = attribute
        recordAdded("optional \(attribute.name)")
        note("\(definition.entities[entity].name).\(attribute.name) is \(attribute.isOptional ? "optional" : "required")")
    }

    mutating func moveAttributeUp() {
        let movable = attributes { entity, attribute in entity.superentityName != nil && !isAdded(attribute.name) }
        guard let (entity, place) = pick(movable), let parent = definition.entities[entity].superentityName else { return }
        let attribute = definition.entities[entity].attributes.remove(at: place)
        dropIndexes(of: attribute.name)
        definition.entities[index(parent)].attributes.append(attribute)
        let others = family(parent).subtracting(family(definition.entities[entity].name))
        forEachObject(of: others) { $0.values[attribute.name] = attribute.defaultValue }
        recordAdded(attribute.name)
        note("move \(attribute.name) from \(definition.entities[entity].name) up to \(parent)")
    }

    mutating func moveAttributeDown() {
        let movable = attributes { entity, attribute in
            !isAdded(attribute.name) && definition.entities.contains { $0.superentityName == entity.name }
        }
        guard let (entity, place) = pick(movable) else { return }
        let name = definition.entities[entity].name
        guard let child = pick(definition.entities.filter { $0.superentityName == name }) else { return }
        let attribute = definition.entities[entity].attributes.remove(at: place)
        dropIndexes(of: attribute.name)
        definition.entities[index(child.name)].attributes.append(attribute)
        forEachObject(of: family(name).subtracting(family(child.name))) { $0.values[attribute.name] = nil }
        recordAdded(attribute.name)
        note("move \(attribute.name) from \(name) down to \(child.name)")
    }

    // MARK: Indexes

    mutating func changeIndexes() {
        guard let (entity, place) = pick(attributes { _, _ in true }) else { return }
        let name = definition.entities[entity].attributes[place].name
        let hasIndex = definition.entities[entity].fetchIndexes.contains { $0.name == name }
        let isUnique = definition.entities[entity].uniquenessConstraints.contains([name])
        dropIndexes(of: name)
        if !hasIndex { definition.entities[entity].fetchIndexes.append(FetchIndexDescription(name, [FetchIndexElement(name)])) }
        let values = plain.objects.values.filter { family(definition.entities[entity].name).contains($0.entity) }
            .compactMap { $0.values[name] }.filter { !$0.isNull }
        let attribute = definition.entities[entity].attributes[place]
        // An attribute with a default does not become unique: objects that are inserted later would all have this value.
        guard attribute.isOptional, attribute.defaultValue.isNull else { return note("change the index \(name)") }
        if !isUnique, Set(values).count == values.count { definition.entities[entity].uniquenessConstraints.append([name]) }
        note("change the indexes of \(definition.entities[entity].name).\(name)")
    }

    mutating func dropIndexes(of name: String) {
        for entity in definition.entities.indices {
            definition.entities[entity].fetchIndexes.removeAll { $0.name == name }
            definition.entities[entity].uniquenessConstraints.removeAll { $0 == [name] }
        }
    }
}
