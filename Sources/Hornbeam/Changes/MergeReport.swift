public import HornbeamModel

/// The conflicts with remote changes that the last save resolved, including those of merges before it.
///
/// The report lists every change that was not written. `description` contains no values.
public struct MergeReport: Sendable {
    /// A property that both sides changed, and its merged value.
    public struct Property: Hashable, Sendable {
        /// The values before the changes and on both sides.
        public let conflict: PropertyConflict
        /// The value after the merge.
        public let result: PropertyValue
        /// The rule or policy that chose the result.
        public let decision: Decision
    }

    /// The rule or policy that chose the result.
    public enum Decision: Hashable, Sendable {
        /// The rule of the property in the model.
        case rule(MergeRule)
        /// The merge policy of the context.
        case policy(MergePolicy)
    }

    /// The result for a whole object.
    public struct Object: Hashable, Sendable {
        /// The results of a merge for an object that one side deleted, or whose unique values another object has.
        public enum Outcome: Hashable, Sendable {
            /// Another save deleted the object, and this context's changes were discarded.
            case deletedByThem
            /// Another save deleted the object, and this context inserted it again with its values.
            case writtenAgain
            /// This context deleted the object, although another save had changed it.
            case deletedDespiteChanges
            /// This context deleted the object, but the object stays with the changes of another save.
            case kept
            /// The object had the unique values of another object and was merged into that object.
            case became(ManagedObjectID)
        }

        /// The object.
        public let objectID: ManagedObjectID
        /// The result for the object.
        public let outcome: Outcome
    }

    /// The properties that both sides changed, in the order of the decisions about them.
    public internal(set) var properties: [Property] = []
    /// The objects that one side deleted, or that were merged into another object.
    public internal(set) var objects: [Object] = []
    /// The objects of which the two sides changed different properties. Both changes are in the result.
    public internal(set) var rebased: Set<ManagedObjectID> = []

    /// True if there were no conflicts.
    public var isEmpty: Bool { properties.isEmpty && objects.isEmpty && rebased.isEmpty }
}

extension MergeReport: CustomStringConvertible {
    public var description: String {
        var lines = properties.map { property in
            let conflict = property.conflict
            let winner = property.result == conflict.mine
                ? "mine" : property.result == conflict.theirs ? "theirs" : "both"
            return "\(conflict.entityName) \(conflict.objectID).\(conflict.key): \(winner), by \(property.decision)"
        }
        lines += objects.map { "\($0.objectID): \($0.outcome)" }
        if !rebased.isEmpty { lines.append("merged without a conflict: \(rebased.count) objects") }
        return lines.isEmpty ? "nothing was merged" : lines.joined(separator: "\n")
    }
}

extension MergeReport.Decision: CustomStringConvertible {
    public var description: String {
        switch self {
        case .rule(let rule): "the rule \(rule)"
        case .policy(let policy): "the policy \(policy)"
        }
    }
}

extension MergeReport.Object.Outcome: CustomStringConvertible {
    public var description: String {
        switch self {
        case .deletedByThem: "deleted by others, changes dropped"
        case .writtenAgain: "deleted by others, written again"
        case .deletedDespiteChanges: "deleted although others changed it"
        case .kept: "kept, since others changed it"
        case .became(let id): "became \(id)"
        }
    }
}
