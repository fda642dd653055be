extension ModelCompiler {
    /// Checks that a derivation parses, that its path exists, and that its value has the attribute's type (ATT-11).
    mutating func checkDerivation(of attribute: AttributeDescription, in entity: Entity) {
        guard let text = attribute.derivation else { return }
        let derivation: Derivation
        do {
            derivation = try Derivation(text)
        } catch {
            report("has a derivation that cannot be used. \(message(of: error))", attribute, entity)
            return
        }
        switch derivation {
        case .now: expect(attribute.type == .date, "a date", attribute, entity)
        case .value(let path):
            guard let source = source(path, of: attribute, in: entity) else { return }
            let fits = source.type == attribute.type || (source.type.isNumeric && attribute.type.isNumeric)
            expect(fits, source.type.withArticle, attribute, entity)
        case .text(_, let path):
            guard let source = source(path, of: attribute, in: entity) else { return }
            if source.type != .string {
                report("is derived from “\(path.joined(separator: "."))”, which is not a string.", attribute, entity)
            }
            expect(attribute.type == .string, "a string", attribute, entity)
        case .count(let name):
            _ = toMany(name, of: attribute, in: entity)
            expect(attribute.type.isNumeric, "a number", attribute, entity)
        case .aggregate(_, let name, let inner):
            guard let destination = toMany(name, of: attribute, in: entity) else { return }
            guard let source = stored(inner, in: destination, of: attribute, entity) else { return }
            if !source.type.isNumeric, source.type != .date {
                report("is derived from “\(name).\(inner)”, which is not a number.", attribute, entity)
            }
            expect(attribute.type.isNumeric || attribute.type == source.type, "a number", attribute, entity)
        }
    }

    private mutating func report(_ message: String, _ attribute: AttributeDescription, _ entity: Entity) {
        report("“\(entity.name).\(attribute.name)” \(message)", entity: entity.name, key: attribute.name)
    }

    private mutating func expect(_ fits: Bool, _ type: String, _ attribute: AttributeDescription, _ entity: Entity) {
        if !fits {
            report("is of type \(attribute.type), and its derivation gives \(type): change the type.", attribute, entity)
        }
    }

    /// The attribute at the end of a path of to-one relationships. Reports a problem and returns nil when there is no such attribute.
    private mutating func source(
        _ path: [String], of attribute: AttributeDescription, in entity: Entity
    ) -> AttributeDescription? {
        var current = entity.name
        for step in path.dropLast() {
            let found = lineage(of: current).flatMap(\.relationships).first { $0.name == step }
            guard let found, !found.isToMany else {
                let reason = found == nil ? "has no relationship of that name" : "leads to many objects there"
                report("is derived over “\(step)”, and “\(current)” \(reason).", attribute, entity)
                return nil
            }
            current = found.destinationEntityName
        }
        return stored(path.last ?? "", in: current, of: attribute, entity)
    }

    /// The attribute with a name. Reports a problem and returns nil when there is no such attribute, or it is transient or derived.
    private mutating func stored(
        _ name: String, in owner: String, of attribute: AttributeDescription, _ entity: Entity
    ) -> AttributeDescription? {
        let attributes = lineage(of: owner).flatMap(\.attributes)
        guard let found = attributes.first(where: { $0.name == name }) else {
            report(
                "is derived from “\(name)”, which “\(owner)” does not have"
                    + suggestion(for: name, among: attributes.map(\.name)) + ".",
                attribute, entity)
            return nil
        }
        if found.isTransient || found.isDerived {
            report(
                "is derived from “\(owner).\(name)”, which is \(found.isDerived ? "derived" : "transient") itself: "
                    + "derive it from a stored value.",
                attribute, entity)
            return nil
        }
        return found
    }

    /// The destination of a to-many relationship. Reports a problem and returns nil when there is no such relationship.
    private mutating func toMany(_ name: String, of attribute: AttributeDescription, in entity: Entity) -> String? {
        let relationships = lineage(of: entity.name).flatMap(\.relationships)
        guard let found = relationships.first(where: { $0.name == name }) else {
            report(
                "is derived from “\(name)”, which is not a relationship of “\(entity.name)”"
                    + suggestion(for: name, among: relationships.map(\.name)) + ".",
                attribute, entity)
            return nil
        }
        if !found.isToMany {
            report("is derived from “\(name)”, which leads to one object: only a to-many has an aggregate.", attribute, entity)
            return nil
        }
        return found.destinationEntityName
    }
}
