/// The parts of a model that have another name in an older version, by their renaming identifiers.
///
/// Version hashes cover names and not renaming identifiers. If parts exchange their names, two versions have equal hashes, although the values of
/// each part belong to another name.
package struct RenamedParts {
    /// A part of the new version.
    package struct Part: Hashable {
        /// The entity, or the entity with the part: `Person`.
        package var entity: String
        /// The part: `Person.first`; of a composite's element `Shop.place.lat`; of an entity its name.
        package var subject: String
        /// The name of the part in the older version.
        package var formerName: String
    }

    package private(set) var parts: [Part] = []

    package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
        let match = RenameMatch(old: old.entities.map(\.renamePart), new: new.entities.map(\.renamePart))
        for (entity, index) in zip(new.entities, match.matches) {
            guard let index else { continue }
            let before = old.entities[index]
            add(entity.name, entity.name, from: before.name)
            addProperties(of: entity, before)
        }
    }

    private mutating func addProperties(of entity: EntityDescription, _ before: EntityDescription) {
        let (old, new) = (before.properties.filter { !$0.isTransient }, entity.properties.filter { !$0.isTransient })
        let match = RenameMatch(old: old.map(\.renamePart), new: new.map(\.renamePart))
        for (property, index) in zip(new, match.matches) {
            guard let index else { continue }
            let subject = "\(property.entity.name).\(property.name)"
            add(property.entity.name, subject, from: old[index].name, name: property.name)
            guard property.isAttribute, old[index].isAttribute, property.attributeType == .composite, old[index].attributeType == .composite else { continue }
            for case let (element, former?) in CompositeMatch(from: old[index], to: property).pairs {
                add(property.entity.name, "\(subject).\(element.name)", from: former.name, name: element.name)
            }
        }
    }

    private mutating func add(_ entity: String, _ subject: String, from former: String, name: String? = nil) {
        let part = Part(entity: entity, subject: subject, formerName: former)
        if former != name ?? subject, !parts.contains(part) { parts.append(part) }
    }
}

extension ManagedObjectModel {
    /// True for the version before another version of equal version hashes, in which parts have exchanged their names.
    ///
    /// A model that lacks the renaming identifiers of the other one cannot be distinguished from that older version.
    package func precedesExchangedNames(of other: ManagedObjectModel) -> Bool {
        versionChecksum == other.versionChecksum && RenamedParts(from: other, to: self).parts.isEmpty
            && !RenamedParts(from: self, to: other).parts.isEmpty
    }
}

extension EntityDescription {
    var renamePart: RenameMatch.Part { RenameMatch.Part(name: name, identifier: definition.renamingIdentifier) }
}

extension PropertyDescription {
    var renamePart: RenameMatch.Part { RenameMatch.Part(name: name, identifier: declaredIdentifier) }
}

extension AttributeDescription {
    var renamePart: RenameMatch.Part { RenameMatch.Part(name: name, identifier: renamingIdentifier) }
}
