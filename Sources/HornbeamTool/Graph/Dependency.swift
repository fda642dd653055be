import Hornbeam

/// One alternative of one clause of a package's dependencies.
final class Dependency: ManagedObject {
    /// The field: Depends, Pre-Depends, Recommends, Suggests or Enhances.
    static let kind = Attribute<String>("kind")
    /// The clause within the field, from 0; alternatives of one clause share it.
    static let clause = Attribute<Int>("clause")
    /// The place among the alternatives of the clause, from 0.
    static let alternative = Attribute<Int>("alternative")
    /// The name asked for, whether or not such a package exists.
    static let targetName = Attribute<String>("targetName")
    /// `<<`, `<=`, `=`, `>=` or `>>`; nil when any version will do.
    static let relation = Attribute<String?>("relation")
    static let version = Attribute<String?>("version")
    /// Architecture qualifier, architectures and build profiles as they were written, where there are any.
    static let restriction = Attribute<String?>("restriction")
    static let package = ToOne<Package>("package", inverse: "dependencies")
    /// The newest package of that name that satisfies the constraint.
    static let target = ToOne<Package>("target", inverse: "dependents")

    var kind: String { get { self[Self.kind] } set { self[Self.kind] = newValue } }
    var clause: Int { get { self[Self.clause] } set { self[Self.clause] = newValue } }
    var alternative: Int { get { self[Self.alternative] } set { self[Self.alternative] = newValue } }
    var targetName: String { get { self[Self.targetName] } set { self[Self.targetName] = newValue } }
    var relation: String? { get { self[Self.relation] } set { self[Self.relation] = newValue } }
    var version: String? { get { self[Self.version] } set { self[Self.version] = newValue } }
    var restriction: String? { get { self[Self.restriction] } set { self[Self.restriction] = newValue } }
    var package: Package? { get { self[Self.package] } set { self[Self.package] = newValue } }
    var target: Package? { get { self[Self.target] } set { self[Self.target] = newValue } }
}
