internal import HornbeamModel

/// The dependencies between derived attributes and properties (ATT-11), computed once per schema.
final class DerivationPlan: Sendable {
    /// A derived attribute of an object that depends on a property of the same object.
    struct Own: Sendable {
        let derived: PropertyDescription
        /// The index of the property; nil for `now()`, which every write of the object computes again.
        let source: Int?
    }

    /// A derived attribute that depends on a property of another object.
    struct Remote: Sendable {
        let derived: PropertyDescription
        /// The property of the other object.
        let source: Int
        /// The relationships from the derived attribute's object to the other object.
        let path: [PropertyDescription]
    }

    /// Indexed by the index of the written object's entity.
    let own: [[Own]]
    let remote: [[Remote]]
    let isEmpty: Bool

    init(_ model: ManagedObjectModel) {
        var remote = model.entities.map { _ in [Remote]() }
        for entity in model.entities {
            for property in entity.ownProperties where property.isDerived {
                for (index, step) in Self.remoteSteps(of: property) { remote[index].append(step) }
            }
        }
        own = model.entities.map { entity in
            entity.isAbstract ? [] : entity.properties.filter(\.isDerived).map { property in
                let first = property.derivation?.path.first
                return Own(derived: property, source: first.flatMap { entity.propertiesByName[$0]?.index })
            }
        }
        self.remote = remote
        isEmpty = own.allSatisfy(\.isEmpty)
    }

    /// Returns each property of another object that a derivation reads, with the index of that object's entity.
    private static func remoteSteps(of derived: PropertyDescription) -> [(Int, Remote)] {
        var steps: [(Int, Remote)] = []
        var path: [PropertyDescription] = []
        var entity = derived.entity
        for name in derived.derivation?.path ?? [] {
            guard let property = entity.propertiesByName[name] else { break }
            if !path.isEmpty {
                steps += entity.concreteDescendants.map { ($0.index, Remote(derived: derived, source: property.index, path: path)) }
            }
            guard let next = property.destinationEntity else { break }
            path.append(property)
            entity = next
        }
        return steps
    }
}

extension Derivation {
    /// The key path of the values that the expression reads.
    var path: [String] {
        switch self {
        case .value(let path), .text(_, let path): path
        case .count(let relationship): [relationship]
        case .aggregate(_, let relationship, let attribute): [relationship, attribute]
        case .now: []
        }
    }
}
