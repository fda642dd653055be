import Hornbeam

/// The maintainer of a package.
@Entity final class Maintainer: ManagedObject {
    #Unique<Maintainer>([\.name, \.address])

    var name: String
    var address: String?
    var packages: ManagedSet<Package>
}

/// The section of the archive with the package: `games`, `libs`, `non-free/doc`.
@Entity final class Section: ManagedObject {
    @Attribute(.unique) var name: String
    var packages: ManagedSet<Package>
}

/// A category of packages: `game::strategy`, `role::program`.
@Entity final class Tag: ManagedObject {
    @Attribute(.unique) var name: String
    var packages: ManagedSet<Package>
}

/// One save of the durability trial.
@Entity final class TrialSave: ManagedObject {
    /// Counts from 1.
    @Attribute(.unique) var serial: Int
}
