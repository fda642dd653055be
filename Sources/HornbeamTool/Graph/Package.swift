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
    /// Bytes on disk when installed.
    @Attribute(.indexed) var installedSize = 0
    /// Bytes of the package file.
    var downloadSize = 0
    var isEssential = false
    /// The last save of the durability trial that changed the package; 0 for none.
    var trialSerial = 0
    var section: Section?
    var maintainer: Maintainer?
    var tags: ManagedSet<Tag>
    /// The packages that the package needs.
    @Relationship(deleteRule: .cascade, inverse: \Dependency.package) var dependencies: ManagedSet<Dependency>
    /// The packages that need the package.
    @Relationship(inverse: \Dependency.target) var dependents: ManagedSet<Dependency>
}
