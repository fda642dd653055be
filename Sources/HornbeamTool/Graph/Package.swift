import Hornbeam

/// One version of a package for one architecture.
final class Package: ManagedObject {
    static let name = Attribute<String>("name", indexed: true)
    static let version = Attribute<String>("version")
    static let architecture = Attribute<String>("architecture")
    static let priority = Attribute<String?>("priority")
    static let summary = Attribute<String?>("summary")
    static let homepage = Attribute<String?>("homepage")
    /// Bytes on disk when installed.
    static let installedSize = Attribute<Int>("installedSize", default: 0, indexed: true)
    /// Bytes of the package file.
    static let downloadSize = Attribute<Int>("downloadSize", default: 0)
    static let isEssential = Attribute<Bool>("isEssential", default: false)
    /// The last save of the durability trial that changed the package; 0 for none.
    static let trialSerial = Attribute<Int>("trialSerial", default: 0)
    static let section = ToOne<Section>("section", inverse: "packages")
    static let maintainer = ToOne<Maintainer>("maintainer", inverse: "packages")
    static let tags = ToMany<Tag>("tags", inverse: "packages")
    /// What the package needs.
    static let dependencies = ToMany<Dependency>("dependencies", inverse: "package", deleteRule: .cascade)
    /// What needs the package.
    static let dependents = ToMany<Dependency>("dependents", inverse: "target")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var version: String { get { self[Self.version] } set { self[Self.version] = newValue } }
    var architecture: String { get { self[Self.architecture] } set { self[Self.architecture] = newValue } }
    var priority: String? { get { self[Self.priority] } set { self[Self.priority] = newValue } }
    var summary: String? { get { self[Self.summary] } set { self[Self.summary] = newValue } }
    var homepage: String? { get { self[Self.homepage] } set { self[Self.homepage] = newValue } }
    var installedSize: Int { get { self[Self.installedSize] } set { self[Self.installedSize] = newValue } }
    var downloadSize: Int { get { self[Self.downloadSize] } set { self[Self.downloadSize] = newValue } }
    var isEssential: Bool { get { self[Self.isEssential] } set { self[Self.isEssential] = newValue } }
    var trialSerial: Int { get { self[Self.trialSerial] } set { self[Self.trialSerial] = newValue } }
    var section: Section? { get { self[Self.section] } set { self[Self.section] = newValue } }
    var maintainer: Maintainer? { get { self[Self.maintainer] } set { self[Self.maintainer] = newValue } }
    var tags: ManagedSet<Tag> { get { self[Self.tags] } set { self[Self.tags] = newValue } }
    var dependencies: ManagedSet<Dependency> { get { self[Self.dependencies] } set { self[Self.dependencies] = newValue } }
    var dependents: ManagedSet<Dependency> { get { self[Self.dependents] } set { self[Self.dependents] = newValue } }
}
