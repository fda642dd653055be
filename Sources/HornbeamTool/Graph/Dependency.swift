import Hornbeam

/// One alternative of one clause of a package's dependencies.
@Entity final class Dependency: ManagedObject {
    /// The field: Depends, Pre-Depends, Recommends, Suggests or Enhances.
    var kind: String
    /// The clause within the field, from 0; alternatives of one clause share it.
    var clause: Int
    /// The place among the alternatives of the clause, from 0.
    var alternative: Int
    /// The name asked for, whether or not such a package exists.
    var targetName: String
    /// `<<`, `<=`, `=`, `>=` or `>>`; nil when any version will do.
    var relation: String?
    var version: String?
    /// Architecture qualifier, architectures and build profiles as they were written, where there are any.
    var restriction: String?
    var package: Package?
    /// The newest package of that name that satisfies the constraint.
    var target: Package?
}
