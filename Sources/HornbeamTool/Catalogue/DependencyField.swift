/// The kinds of dependency between packages.
enum DependencyKind: String, CaseIterable, Sendable {
    case depends = "Depends"
    case preDepends = "Pre-Depends"
    case recommends = "Recommends"
    case suggests = "Suggests"
    case enhances = "Enhances"
}

/// One dependency field: all its clauses must be satisfied.
struct DependencyField: Equatable, Sendable {
    var kind: DependencyKind
    var clauses: [DependencyClause]
}

/// One clause: it is satisfied by any of its alternatives; the first is preferred.
struct DependencyClause: Equatable, Sendable {
    var alternatives: [DependencyAlternative]
}

/// A package that can satisfy a clause: `libc6:any (>= 2.34) [amd64 !i386] <!nocheck>`.
struct DependencyAlternative: Equatable, Sendable {
    var name: String
    /// The required architecture, as in `python3:any`.
    var architectureQualifier: String?
    var constraint: VersionConstraint?
    /// The architectures to which the alternative applies (`!` excludes one); empty means all.
    var architectures: [String] = []
    /// The build profiles under which it applies: one of the lists must be satisfied completely.
    var profiles: [[String]] = []
}

/// A version constraint: `(>= 2.34)`.
struct VersionConstraint: Hashable, Sendable, CustomStringConvertible {
    enum Relation: String, CaseIterable, Sendable {
        case earlier = "<<"
        case earlierOrEqual = "<="
        case equal = "="
        case laterOrEqual = ">="
        case later = ">>"
    }

    var relation: Relation
    var version: String

    var description: String { "\(relation.rawValue) \(version)" }

    /// True when `version` satisfies the constraint.
    func admits(_ other: String) -> Bool {
        let order = DebianVersion.compare(other, version)
        return switch relation {
        case .earlier: order < 0
        case .earlierOrEqual: order <= 0
        case .equal: order == 0
        case .laterOrEqual: order >= 0
        case .later: order > 0
        }
    }
}
