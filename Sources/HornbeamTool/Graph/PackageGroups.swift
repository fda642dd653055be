import Hornbeam

/// Who cares for a package.
final class Maintainer: ManagedObject {
    static let name = Attribute<String>("name")
    static let address = Attribute<String?>("address")
    static let packages = ToMany<Package>("packages", inverse: "maintainer")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var address: String? { get { self[Self.address] } set { self[Self.address] = newValue } }
    var packages: ManagedSet<Package> { get { self[Self.packages] } set { self[Self.packages] = newValue } }
}

/// The part of the archive that a package belongs to: `games`, `libs`, `non-free/doc`.
final class Section: ManagedObject {
    static let name = Attribute<String>("name", unique: true)
    static let packages = ToMany<Package>("packages", inverse: "section")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var packages: ManagedSet<Package> { get { self[Self.packages] } set { self[Self.packages] = newValue } }
}

/// A facet of what a package is: `game::strategy`, `role::program`.
final class Tag: ManagedObject {
    static let name = Attribute<String>("name", unique: true)
    static let packages = ToMany<Package>("packages", inverse: "tags")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var packages: ManagedSet<Package> { get { self[Self.packages] } set { self[Self.packages] = newValue } }
}

/// One save of the durability trial.
final class TrialSave: ManagedObject {
    /// Counts from 1.
    static let serial = Attribute<Int>("serial", unique: true)

    var serial: Int { get { self[Self.serial] } set { self[Self.serial] = newValue } }
}
