public import Foundation
public import HornbeamModel

// New documents, documents with the model of classes, and closed documents.

extension PersistentDocument {
    /// Opens a document with the model of classes.
    ///
    /// - Throws: The errors of `init(opening:model:classes:)`.
    public convenience init(opening url: URL, for classes: ManagedObject.Type...) throws {
        try self.init(opening: url, model: ManagedObjectModel(for: classes), classes: classes)
    }

    /// Creates an empty document, and opens it. The document exists only when it is complete.
    ///
    /// - Throws: `notAStore` if a file or folder exists at the URL; the errors of creating a store. Then there is no document, unless the disk also
    ///   refuses to remove a complete one.
    public static func create(at url: URL, model: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws -> PersistentDocument {
        let package = try DocumentPackage.make(at: url) { store in
            try PersistentContainer.open(at: store, model: model, classes: classes).close()
        }
        do { return try PersistentDocument(package, model: model, classes: classes) } catch {
            package.removeDocument()
            throw error
        }
    }

    /// Creates an empty document with the model of classes, and opens it.
    ///
    /// - Throws: The errors of `create(at:model:classes:)`.
    public static func create(at url: URL, for classes: ManagedObject.Type...) throws -> PersistentDocument {
        try create(at: url, model: ManagedObjectModel(for: classes), classes: classes)
    }

    /// Discards the autosaved changes of a closed document, for example because they are damaged. The document has its saved state then.
    ///
    /// - Parameter url: The document.
    /// - Throws: `storeInUse` if the document is open in this or another process; `notAStore` if there is none; `inputOutput`.
    public static func discardAutosavedChanges(at url: URL) throws {
        let package = try DocumentPackage(locking: url)
        defer { package.unlock() }
        try package.repair()
        try package.discardWorking()
    }
}
