public import HornbeamModel

/// What a save, and the merges before it, did with changes that others had made to the same objects.
///
/// Whenever somebody's change is not in the result, it is named here. `description` holds no values.
public struct MergeReport: Sendable {
    /// A property that both sides changed, and what became of it.
    public struct Property: Hashable, Sendable {
        /// The values before the changes and on both sides.
        public let conflict: PropertyConflict
        /// The value after the merge.
        public let result: PropertyValue
        /// The rule or policy that chose the result.
        public let decision: Decision
    }

    /// Who decided.
    public enum Decision: Hashable, Sendable {
        /// The rule of the property in the model.
        case rule(MergeRule)
        /// The merge policy of the context.
        case policy(MergePolicy)
    }

    /// What became of a whole object.
    public struct Object: Hashable, Sendable {
        /// The results of a merge for an object that one side deleted, or whose unique values another object has.
        public enum Outcome: Hashable, Sendable {
            /// Others deleted it, and my changes went with it.
            case deletedByThem
            /// Others deleted it, and it was written again with my values.
            case writtenAgain
            /// I deleted it although others had changed it.
            case deletedDespiteChanges
            /// I wanted to delete it, and it stays as others changed it.
            case kept
            /// It has the unique values of another object and became that one.
            case became(ManagedObjectID)
        }

        /// The object.
        public let objectID: ManagedObjectID
        /// The result for the object.
        public let outcome: Outcome
    }

    /// The properties that both sides changed, in the order in which they were decided.
    public internal(set) var properties: [Property] = []
    /// The objects that one side deleted or that became another object.
    public internal(set) var objects: [Object] = []
    /// Changed objects of which others had changed other properties: both changes are in the result.
    public internal(set) var rebased: Set<ManagedObjectID> = []

    /// True if no change met another one.
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
