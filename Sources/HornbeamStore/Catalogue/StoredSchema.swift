internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// The catalogue and the model as stored, before names are resolved.
struct StoredSchema {
    var catalogue: Catalogue
    var model: ManagedObjectModel
    var modelBytes: [UInt8]

    init(catalogue: Catalogue, model: ManagedObjectModel, modelBytes: [UInt8]) {
        self.catalogue = catalogue
        self.model = model
        self.modelBytes = modelBytes
    }

    /// Nil when the store has no catalogue yet. If `given` is the stored model, it is used and the stored bytes are not decoded.
    init?(_ snapshot: Snapshot, _ location: String, expecting given: ManagedObjectModel? = nil) throws {
        guard let bytes = try snapshot.value(StoredValue.catalogue) else { return nil }
        let catalogue = Catalogue.decoded(bytes)
        // A newer catalogue may have a format that this version cannot decode.
        let format = try? catalogue?.format ?? JSONDecoder().decode(FormatOnly.self, from: Data(bytes)).format
        if let format, format > Catalogue.currentFormat {
            throw HornbeamError(
                .newerFormat,
                "“\(location)” was written with format \(format) of rows and keys; this version knows formats up to "
                    + "\(Catalogue.currentFormat). Open it with a newer version of Hornbeam.")
        }
        guard let catalogue else { throw Self.unreadable("catalogue", location) }
        guard let modelBytes = try snapshot.value(StoredValue.model) else {
            throw Self.unreadable("model", location)
        }
        let isGiven = try given?.isStored(as: modelBytes) ?? false
        let model = isGiven ? given : nil
        self.init(catalogue: catalogue, model: try model ?? ManagedObjectModel.decoded(modelBytes), modelBytes: modelBytes)
    }

    private struct FormatOnly: Decodable { var format: Int }

    private static func unreadable(_ what: String, _ location: String) -> HornbeamError {
        HornbeamError(.damaged, "The \(what) inside “\(location)” cannot be read. Restore the store from a backup.")
    }

    func write(to transaction: WriteTransaction) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try transaction.setValue(StoredValue.catalogue, [UInt8](try encoder.encode(catalogue)))
        try transaction.setValue(StoredValue.model, modelBytes)
    }
}

extension ManagedObjectModel {
    /// The models last found equal to stored bytes. Comparing two definitions is faster than encoding a model.
    private static let recentModels = Guarded<[(bytes: [UInt8], definition: ModelDefinition)]>([])
    private static let recentModelsMax = 8

    /// True if the stored bytes encode this model.
    func isStored(as bytes: [UInt8]) throws -> Bool {
        if let known = Self.recentModels.withLock({ $0.first { $0.bytes == bytes }?.definition }), known == definition { return true }
        guard try encoded() == bytes else { return false }
        Self.recentModels.withLock { last in
            if last.count == Self.recentModelsMax { last.removeFirst() }
            last.append((bytes, definition))
        }
        return true
    }
}

extension Catalogue {
    /// The last decoded catalogues. Decoding takes a large part of opening a store, and a process often opens the same store again.
    private static let recentCatalogues = Guarded<[(bytes: [UInt8], catalogue: Catalogue)]>([])
    private static let recentCataloguesMax = 8

    /// Nil for bytes that this version cannot decode.
    fileprivate static func decoded(_ bytes: [UInt8]) -> Catalogue? {
        if let known = recentCatalogues.withLock({ $0.first { $0.bytes == bytes }?.catalogue }) { return known }
        guard let catalogue = try? JSONDecoder().decode(Catalogue.self, from: Data(bytes)), catalogue.isSound else { return nil }
        recentCatalogues.withLock { last in
            if last.count == recentCataloguesMax { last.removeFirst() }
            last.append((bytes, catalogue))
        }
        return catalogue
    }
}
