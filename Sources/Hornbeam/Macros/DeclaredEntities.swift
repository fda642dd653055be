internal import HornbeamModel

/// Converts the entities that classes declare to entities of a model: resolves the entity names of destinations, and finds inverses.
struct DeclaredEntities {
    private var declarations: [EntityDeclaration] = []
    private var known: Set<ObjectIdentifier> = []
    private var problems: [HornbeamError] = []
    private var entities: [Entity] = []

    /// Adds the entity of a class, after the entities of its superclasses.
    mutating func add(_ type: ManagedObject.Type) {
        guard let declaration = type.entityDeclaration, declaration.objectClass == type else {
            problems.append(
                HornbeamError(
                    .invalidModel, "The class \(type) declares no entity. Write @Entity before it, or override `entityDeclaration`."))
            return
        }
        add(declaration)
    }

    private mutating func add(_ declaration: EntityDeclaration) {
        for parent in declaration.parent { add(parent) }
        guard known.insert(ObjectIdentifier(declaration.objectClass)).inserted else { return }
        declarations.append(declaration)
    }

    /// - Throws: `invalidModel` for classes without an entity and for ambiguous inverses.
    mutating func completed() throws -> [Entity] {
        entities = declarations.map(\.entity)
        nameDestinations()
        completeInverses()
        inferInverses()
        if let error = HornbeamError.combining(problems) { throw error }
        return entities
    }

    /// Sets the entity names of destinations. Tokens name the class of the destination, and its entity may have another name.
    private mutating func nameDestinations() {
        let names = Dictionary(
            declarations.map { (String(describing: $0.objectClass), $0.entity.name) }, uniquingKeysWith: { first, _ in first })
        for entity in entities.indices {
            for place in entities[entity].relationships.indices {
                let destination = entities[entity].relationships[place].destinationEntityName
                if let name = names[destination] { entities[entity].relationships[place].destinationEntityName = name }
            }
        }
    }

    /// The indexes of an entity and its relationship.
    private struct Place: Hashable {
        var entity: Int
        var relationship: Int
    }

    private func relationship(_ place: Place) -> RelationshipDescription { entities[place.entity].relationships[place.relationship] }

    private var places: [Place] {
        entities.indices.flatMap { entity in entities[entity].relationships.indices.map { Place(entity: entity, relationship: $0) } }
    }

    /// Sets the inverse of a relationship that another one declares as its inverse.
    private mutating func completeInverses() {
        for place in places {
            guard let inverse = relationship(place).inverseName else { continue }
            let other = places.first {
                entities[$0.entity].name == relationship(place).destinationEntityName && relationship($0).name == inverse
            }
            guard let other, relationship(other).inverseName == nil else { continue }
            entities[other.entity].relationships[other.relationship].inverseName = relationship(place).name
        }
    }

    /// Makes two relationships inverses of each other if each is the only one in its direction between the two entities.
    private mutating func inferInverses() {
        let open = places.filter { relationship($0).inverseName == nil && !declarations[$0.entity].oneWay.contains(relationship($0).name) }
        func inverseCandidates(_ place: Place) -> [Place] {
            open.filter { other in
                other != place && entities[other.entity].name == relationship(place).destinationEntityName
                    && relationship(other).destinationEntityName == entities[place.entity].name
            }
        }
        for place in open {
            let candidates = inverseCandidates(place)
            if candidates.count == 1, inverseCandidates(candidates[0]).count == 1 {
                entities[place.entity].relationships[place.relationship].inverseName = relationship(candidates[0]).name
            } else if candidates.count > 1 {
                reportUnclear(place, candidates)
            }
        }
    }

    private mutating func reportUnclear(_ place: Place, _ candidates: [Place]) {
        let names = candidates.map { "“\(entities[$0.entity].name).\(relationship($0).name)”" }.joined(separator: " or ")
        let entity = entities[place.entity].name
        problems.append(
            HornbeamError(
                .invalidModel,
                "The inverse of “\(entity).\(relationship(place).name)” may be \(names). Name it with `inverse:`, or write `inverse: nil` "
                    + "where there is none.",
                entity: entity, key: relationship(place).name))
    }
}
