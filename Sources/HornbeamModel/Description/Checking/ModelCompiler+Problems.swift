extension ModelCompiler {
    /// All problems of the definition, each with its entity and property; empty for a valid definition.
    ///
    /// Predicates can be checked only against a consistent model. If the model is inconsistent, this method removes the faulty
    /// parts from a copy and checks the predicates of that copy, so that one call reports all problems.
    static func problems(of definition: ModelDefinition) -> [HornbeamError] {
        let found = details(of: definition)
        if found.isEmpty { return [] }
        let (rest, removedNames) = definition.removingFaults(at: found)
        var compiler = ModelCompiler(rest)
        guard (try? compiler.compile()) != nil else { return found }
        let reportedMessages = Set(found.map(\.message))
        return found + details(of: rest).filter { problem in
            !reportedMessages.contains(problem.message) && !removedNames.contains { problem.message.contains("“\($0)”") }
        }
    }

    private static func details(of definition: ModelDefinition) -> [HornbeamError] {
        do {
            _ = try ManagedObjectModel(definition)
            return []
        } catch {
            return (error as? HornbeamError)?.details ?? []
        }
    }
}

extension ModelDefinition {
    /// A copy without faulty derivations, constraints, indexes and relationships, and the names of the removed relationships.
    fileprivate func removingFaults(at problems: [HornbeamError]) -> (ModelDefinition, removedNames: [String]) {
        var copy = self
        var removedNames: [String] = []
        let known = Set(entities.map(\.name))
        for place in copy.entities.indices {
            let name = copy.entities[place].name
            let keys = Set(problems.filter { $0.entity == name }.compactMap(\.key))
            for attribute in copy.entities[place].attributes.indices
            where keys.contains(copy.entities[place].attributes[attribute].name) {
                copy.entities[place].attributes[attribute].derivation = nil
            }
            copy.entities[place].uniquenessConstraints.removeAll { !keys.isDisjoint(with: $0) }
            copy.entities[place].fetchIndexes.removeAll { keys.contains($0.name) }
            copy.entities[place].relationships.removeAll { relationship in
                guard !known.contains(relationship.destinationEntityName) else { return false }
                removedNames.append(relationship.name)
                return true
            }
            for relationship in copy.entities[place].relationships.indices {
                copy.entities[place].relationships[relationship].inverseName = nil
            }
        }
        return (copy, removedNames)
    }
}
