import Foundation
import Hornbeam

/// The model of the package catalogue.
enum CatalogueModel {
    static let classes: [ManagedObject.Type] = [
        Package.self, Dependency.self, Maintainer.self, Section.self, Tag.self, TrialSave.self,
    ]

    static func make() throws -> ManagedObjectModel { try ManagedObjectModel(for: classes) }

    /// Opens a store of the catalogue; creates it if it does not exist.
    static func open(at path: String) throws -> PersistentContainer {
        try PersistentContainer.open(at: URL(filePath: path), model: make(), classes: classes)
    }
}
