import Hornbeam

/// One version of a package for one architecture.
@Entity final class Package: ManagedObject {
    #Unique<Package>([\.name, \.version, \.architecture])

    @Attribute(.indexed) var name: String
    var version: String
    var architecture: String
    var priority: String?
    var summary: String?
    var homepage: String?
    /// The installed size in bytes.
    @Attribute(.indexed) var installedSize = 0
    /// The size of the package file in bytes.
    var downloadSize = 0
    var isEssential = false
    /// The last save of the durability trial that stamped the package; 0 for none.
    var trialSerial = 0
    var section: Section?
    var maintainer: Maintainer?
    var tags: ManagedSet<Tag>
    /// The dependencies of the package on others.
    @Relationship(deleteRule: .cascade, inverse: \Dependency.package) var dependencies: ManagedSet<Dependency>
    /// The dependencies of others on the package.
    @Relationship(inverse: \Dependency.target) var dependents: ManagedSet<Dependency>
}
