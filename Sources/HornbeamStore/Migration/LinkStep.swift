internal import HornbeamEngine
internal import HornbeamModel

/// The migration of the trees of one to-many relationship of the new version.
struct LinkStep {
    let relationship: PropertyDescription
    var stored: Catalogue.StoredRelationship
    /// The to-many of the old version from which the entries come, if it is the only one; nil otherwise.
    var old: Catalogue.StoredRelationship?
    /// The sources of the entries, when they are rewritten.
    var sources: [LinkSource] = []
    /// The ordered relationship of the old version that contains the members' positions; nil when the sources contain them.
    var places: PropertyDescription?

    var isBuilt: Bool { !sources.isEmpty }
}

/// Pairs of owner and member in the old version.
enum LinkSource {
    /// The members of a to-many, for owners of the given entities.
    case members(PropertyDescription, owners: Set<UInt32>)
    /// The rows of an entity, which are the owners. Their to-one names the member.
    case toOne(PropertyDescription, of: EntityDescription)
    /// The rows of an entity, which are the members. Their to-one names the owner.
    case namedOwner(PropertyDescription, of: EntityDescription)
    /// The members of a to-many in the reverse direction.
    case reversed(PropertyDescription)
}

/// A property that becomes required in the new version, so that the old data may lack its value.
struct RequiredProperty {
    let property: PropertyDescription
    let entity: EntityDescription
}

extension MigrationDraft {
    mutating func planLinks() throws(EngineError) {
        for entity in new.entities {
            for property in entity.ownProperties where property.isStoredToMany {
                links.append(try linkStep(property))
            }
        }
        catalogue.relationships = links.map(\.stored)
    }

    private mutating func linkStep(_ relationship: PropertyDescription) throws(EngineError) -> LinkStep {
        let before = Set(sources(of: relationship).map(\.property))
        let only = before.count == 1 ? before.first : nil
        let oldStored = only.flatMap { $0.isToMany ? oldRelationship($0) : nil }
        var step = LinkStep(
            relationship: relationship,
            stored: Catalogue.StoredRelationship(
                number: oldStored?.number ?? takeNumber(), entity: relationship.entity.name, name: relationship.name,
                destination: relationship.destinationEntity?.name ?? "", inverse: relationship.inverse?.name,
                isOrdered: relationship.isOrdered, isPolymorphic: relationship.hasSeveralDestinations,
                kind: relationship.linkKind, trees: oldStored?.trees))
        step.old = oldStored
        if let only, let oldStored, try canReuseTrees(only, oldStored, as: step) { return step }
        step.sources = try linkSources(of: relationship)
        if case .namedOwner = step.sources.first { step.places = before.first(where: \.isOrdered) }
        if oldStored != nil { step.stored.trees = takeNumber() }
        return step
    }

    private func canReuseTrees(
        _ old: PropertyDescription, _ stored: Catalogue.StoredRelationship, as step: LinkStep
    ) throws(EngineError) -> Bool {
        let new = step.relationship
        guard stored.isPolymorphic == step.stored.isPolymorphic, stored.isOrdered || !step.stored.isOrdered else { return false }
        guard stored.kind == step.stored.kind else { return false }
        if stored.kind == .oneWay,
            (old.entity.concreteDescendants.count > 1) != (new.entity.concreteDescendants.count > 1)
        {
            return false
        }
        let members = Set((new.destinationEntity?.concreteDescendants ?? []).map { number(of: $0) })
        let owners = Set(sources(of: new).map { oldNumber(of: $0.oldEntity) })
        for entity in old.destinationEntity?.concreteDescendants ?? [] where !members.contains(oldNumber(of: entity)) {
            if try oldRowCount(entity) > 0 { return false }
        }
        for entity in old.entity.concreteDescendants where !owners.contains(oldNumber(of: entity)) {
            if try oldRowCount(entity) > 0 { return false }
        }
        return true
    }

    private func linkSources(of relationship: PropertyDescription) throws(EngineError) -> [LinkSource] {
        var found: [LinkSource] = []
        if relationship.linkKind == .mirror, let inverse = relationship.inverse {
            // The to-one values in the member rows determine the members, even those that name a deleted owner.
            let named = sources(of: inverse).filter(\.property.isToOne)
            if !named.isEmpty { return named.map { .namedOwner($0.property, of: $0.oldEntity) } }
        }
        let own = sources(of: relationship)
        for source in own where source.property.isToOne { found.append(.toOne(source.property, of: source.oldEntity)) }
        for old in Set(own.map(\.property).filter(\.isToMany)) {
            let owners = own.filter { $0.property == old }.map { oldNumber(of: $0.oldEntity) }
            found.append(.members(old, owners: Set(owners)))
        }
        if own.isEmpty, let inverse = relationship.inverse {
            let other = sources(of: inverse)
            for source in other where source.property.isToOne { found.append(.namedOwner(source.property, of: source.oldEntity)) }
            for old in Set(other.map(\.property).filter(\.isToMany)) { found.append(.reversed(old)) }
        }
        return found
    }

    // MARK: Required properties

    mutating func findRequired() {
        for step in tables where step.rowCount > 0 {
            for property in step.entity.attributes where !property.isOptional && !property.isTransient && !property.isDerived {
                if mayBeNull(property, step) { required.append(RequiredProperty(property: property, entity: step.entity)) }
            }
            for property in step.entity.relationships where !property.isOptional && !property.isTransient {
                let source = sourceProperty(of: property, in: step.entity)
                let losesObjects = step.columns.contains {
                    if case .keepReferences = $0.conversion { $0.property == property } else { false }
                }
                if source?.isOptional == false, !losesObjects { continue }
                required.append(RequiredProperty(property: property, entity: step.entity))
            }
        }
    }

    /// True when rows may be null in an attribute of the new version. Inferred mappings exclude it; declared ones may not.
    private func mayBeNull(_ attribute: PropertyDescription, _ step: TableStep) -> Bool {
        guard let column = step.columns.first(where: { $0.property == attribute }) else { return false }
        switch column.source {
        case .fill: return attribute.migratedDefaultValue.isNull || source(of: attribute, in: step.entity)?.usesDefaultValue != true
        case .column(_, let old): return old.isOptional && attribute.migratedDefaultValue.isNull
        case .inverse, .computed: return false
        }
    }
}
