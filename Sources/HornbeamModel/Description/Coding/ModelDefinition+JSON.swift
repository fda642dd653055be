public import Foundation
internal import HornbeamThreads

extension ModelDefinition: Codable {
    /// The version of the file format. A file with a higher version is refused.
    public static let formatVersion = 1

    private enum Key: String, CodingKey, CaseIterable {
        case hornbeamModel, versionIdentifiers, entities, composites, configurations, externalEntities, fetchRequests, localization
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(Self.formatVersion, forKey: .hornbeamModel)
        try members.encode(versionIdentifiers.sorted(), forKey: .versionIdentifiers, unless: [])
        try members.encode(entities, forKey: .entities)
        try members.encode(composites, forKey: .composites, unless: [])
        try members.encodeSorted(configurations, forKey: .configurations)
        try members.encode(externalEntities.sorted(), forKey: .externalEntities, unless: [])
        try members.encode(fetchRequestTemplates, forKey: .fetchRequests, unless: [])
        try members.encodeSorted(localizationDictionary, forKey: .localization)
    }

    public init(from decoder: any Decoder) throws {
        let version = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .hornbeamModel)
        guard version <= Self.formatVersion else {
            throw HornbeamError(
                .newerModelFormat,
                "The model is of format \(version), and this version of Hornbeam reads up to \(Self.formatVersion): "
                    + "use a newer one.")
        }
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            entities: try members.decode([Entity].self, forKey: .entities),
            composites: try members.decode(forKey: .composites, default: []),
            configurations: try members.decode(forKey: .configurations, default: [:]),
            fetchRequestTemplates: try members.decode(forKey: .fetchRequests, default: []),
            localizationDictionary: try members.decode(forKey: .localization, default: [:]),
            versionIdentifiers: try members.decode(forKey: .versionIdentifiers, default: []))
        externalEntities = try members.decode(forKey: .externalEntities, default: [])
    }
}

extension ModelDefinition {
    /// Reads a model from JSON.
    ///
    /// - Throws: `HornbeamError` with code `malformedModelFile` and the position, or `newerModelFormat`.
    public init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(ModelDefinition.self, from: json)
        } catch let error as HornbeamError {
            throw error
        } catch let error as DecodingError {
            throw ModelFaults(json).error(first: error)
        } catch {
            throw HornbeamError(.malformedModelFile, "The model file cannot be read.", cause: "\(error)")
        }
    }

    /// The model as readable JSON: entities in their order, members in a fixed order, without defaults.
    /// Equal definitions have equal JSON.
    public func json() throws -> Data { Data(try OrderedJSON(encoding: self).pretty().utf8) }
}

extension ManagedObjectModel {
    /// Reads a model from JSON and checks it.
    ///
    /// - Throws: `HornbeamError` with code `malformedModelFile`, `newerModelFormat` or `invalidModel`.
    public convenience init(json: Data) throws { try self.init(ModelDefinition(json: json)) }

    /// Reads a model from a JSON file and checks it (MDL-4).
    public convenience init(contentsOf url: URL) throws {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: url)
        } catch {
            throw HornbeamError(
                .inputOutput, "The model file “\(url.lastPathComponent)” cannot be read: check that it exists and may be read.",
                cause: "\(error)")
        }
        try self.init(json: bytes)
    }

    /// The model as JSON; see `ModelDefinition.json()`.
    public func json() throws -> Data { try definition.json() }

    /// The form in which a store contains the model.
    package func encoded() throws -> [UInt8] { Array(try OrderedJSON(encoding: definition).compact().utf8) }

    /// Decodes the stored model of a store.
    package convenience init(decoding bytes: [UInt8]) throws { try self.init(json: Data(bytes)) }

    /// Decodes the stored model of a store. Returns the same instance for equal bytes: compiled models live until the process
    /// ends, so a new instance at each opening of a store would leak memory.
    package static func decoded(_ bytes: [UInt8]) throws -> ManagedObjectModel {
        let digest = SHA256.hash(bytes)
        if let model = decodedModels.withLock({ $0[digest] }) { return model }
        let model = try ManagedObjectModel(decoding: bytes)
        return decodedModels.withLock { models in
            if let known = models[digest] { return known }
            models[digest] = model
            return model
        }
    }

    private static let decodedModels = Guarded<[[UInt8]: ManagedObjectModel]>([:])
}
