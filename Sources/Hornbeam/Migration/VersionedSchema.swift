public import HornbeamModel

/// One version of a model, declared by classes. Nest the classes of each version in a separate enum (SWD-7).
///
/// ```swift
/// enum ShopV1: VersionedSchema {
///     static let classes: [ManagedObject.Type] = [Item.self]
///
///     @Entity final class Item: ManagedObject { … }
/// }
/// ```
public protocol VersionedSchema {
    /// The classes of the version.
    static var classes: [ManagedObject.Type] { get }
    /// The name of the version in errors, progress and history; empty by default.
    static var versionIdentifiers: Set<String> { get }
    /// The model of the version; by default the model that the classes declare.
    static func model() throws -> ManagedObjectModel
}

extension VersionedSchema {
    public static var versionIdentifiers: Set<String> { [] }

    public static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(for: classes, and: ModelDefinition(versionIdentifiers: versionIdentifiers))
    }
}
