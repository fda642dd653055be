import Hornbeam

/// One alternative of one clause of a package's dependencies.
@Entity final class Dependency: ManagedObject {
    /// The field: Depends, Pre-Depends, Recommends, Suggests or Enhances.
    var kind: String
    /// The index of the clause within the field; the alternatives of one clause share it.
    var clause: Int
    /// The index among the alternatives of the clause.
    var alternative: Int
    /// The name of the required package, which may not exist.
    var targetName: String
    /// `<<`, `<=`, `=`, `>=` or `>>`; nil for any version.
    var relation: String?
    var version: String?
    /// Architecture qualifier, architectures and build profiles as written, if there are any.
    var restriction: String?
    var package: Package?
    /// The newest package of that name that satisfies the constraint.
    var target: Package?
}
