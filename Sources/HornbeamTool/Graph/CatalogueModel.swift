import Foundation
import Hornbeam

/// The model of the package catalogue.
enum CatalogueModel {
    static let classes: [ManagedObject.Type] = [
        Package.self, Dependency.self, Maintainer.self, Section.self, Tag.self, TrialSave.self,
    ]

    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Package") {
                Package.name
                Package.version
                Package.architecture
                Package.priority
                Package.summary
                Package.homepage
                Package.installedSize
                Package.downloadSize
                Package.isEssential
                Package.trialSerial
                Package.section
                Package.maintainer
                Package.tags
                Package.dependencies
                Package.dependents
                Unique("name", "version", "architecture")
            }
            Entity("Dependency") {
                Dependency.kind
                Dependency.clause
                Dependency.alternative
                Dependency.targetName
                Dependency.relation
                Dependency.version
                Dependency.restriction
                Dependency.package
                Dependency.target
            }
            Entity("Maintainer") {
                Maintainer.name
                Maintainer.address
                Maintainer.packages
                Unique("name", "address")
            }
            Entity("Section") {
                Section.name
                Section.packages
            }
            Entity("Tag") {
                Tag.name
                Tag.packages
            }
            Entity("TrialSave") {
                TrialSave.serial
            }
        }
    }

    /// Opens a store of the catalogue, making it when it is not there.
    static func open(at path: String) throws -> PersistentContainer {
        try PersistentContainer.open(at: URL(filePath: path), model: make(), classes: classes)
    }
}
