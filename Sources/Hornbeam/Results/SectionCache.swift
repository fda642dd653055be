internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

/// The names and sizes of a controller's sections, in a file of the store (FRC-6).
///
/// A fetch with the cache reads no section names. The cache is valid for one state of the stores and for one request: the file has the commits
/// of the stores, the hashes of the model's entities, the request and the section key path. A file that does not match, or that is damaged, has
/// no effect and is replaced. The cache is not used with unsaved changes, in child contexts, in memory, for names that are transient values, which
/// depend on code and not only on the stores, and in stores without a record of history: without the record's time, a commit that a crash removed
/// could have the number of another commit.
struct SectionCache {
    /// The content of the file.
    private struct Content: Codable, Equatable {
        struct Section: Codable, Equatable {
            let name: String
            let count: Int
        }

        /// A description of the state and of the request for which the sections are valid.
        let key: String
        let sections: [Section]
        /// The checksum of the key and the sections.
        let checksum: UInt64
    }

    /// The folder of the caches in the folder of a store.
    static let folderName = "section-caches"

    private let url: URL
    private let key: String

    /// The cache of a request; nil if the context's results cannot be cached.
    init?(named name: String, _ fetch: ValidatedFetch, by sectionKeyPath: String, in context: ManagedObjectContext) throws {
        guard context.parent == nil, context.tracker.objects.isEmpty, !context.reading.isPinned, Self.isStored(sectionKeyPath, of: fetch.entity),
            let store = context.persistentStoreCoordinator.persistentStores.first(where: { $0.type == .onDisk })
        else { return nil }
        let snapshot = try context.readingSnapshot()
        var parts: [String] = []
        for (index, part) in snapshot.parts.enumerated() {
            guard let part else { continue }
            let position = try snapshot.stack.store(in: StoreSlot(index)).historyPosition()
            guard position.number == part.transaction, position.time != 0 else { return nil }
            parts.append("\(index): \(position.number) \(position.time)")
        }
        let stores = context.persistentStoreCoordinator.persistentStores.map(\.identifier.uuidString).sorted()
        let hashes = context.persistentStoreCoordinator.managedObjectModel.entities.map { "\($0.name) \($0.versionHash)" }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let request = String(decoding: try encoder.encode(fetch.request), as: UTF8.self)
        key = (stores + parts + hashes + [request, sectionKeyPath]).joined(separator: "\n")
        url = Self.folder(of: store).appending(path: Self.fileName(name))
    }

    /// True if the values of a key path are values of stored properties.
    private static func isStored(_ keyPath: String, of entity: EntityDescription) -> Bool {
        var entity: EntityDescription? = entity
        for name in keyPath.split(separator: ".") {
            guard let property = entity?.propertiesByName[String(name)], !property.isTransient else { return false }
            if property.isAttribute { return true }
            entity = property.destinationEntity
        }
        return true
    }

    /// The results with the cached sections; nil if the cache is not valid.
    func results<Object: ManagedObject>(_ objects: [Object]) -> OrderedResults<Object>? {
        guard let data = try? Data(contentsOf: url), let content = try? JSONDecoder().decode(Content.self, from: data), content.key == key,
            content.checksum == Self.checksum(key, content.sections)
        else { return nil }
        return OrderedResults(objects, sections: content.sections.map { ($0.name, $0.count) })
    }

    /// Writes the sections. A cache that cannot be written is left out: the next fetch reads the names again.
    func store<Object: ManagedObject>(_ results: OrderedResults<Object>) {
        guard results.isGrouped else { return }
        let sections = results.sections.map { Content.Section(name: $0.name, count: $0.count) }
        let content = Content(key: key, sections: sections, checksum: Self.checksum(key, sections))
        guard let data = try? JSONEncoder().encode(content) else { return }
        try? FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? data.write(to: url, options: .atomic)
    }

    /// Removes a cache, or all caches of a store.
    static func delete(_ name: String?, of store: PersistentStore) throws {
        var url = folder(of: store)
        if let name { url.append(path: fileName(name)) }
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        do { try FileManager.default.removeItem(at: url) } catch {
            throw HornbeamError(
                .inputOutput, "The section cache of the store \(store.url.lastPathComponent) cannot be removed. Check the permissions of its folder.",
                cause: "\(error)")
        }
    }

    private static func folder(of store: PersistentStore) -> URL { store.url.appending(path: folderName) }

    /// A file name for any cache name: other characters than letters, digits and `-` are written as hexadecimal bytes.
    private static func fileName(_ name: String) -> String {
        let text = name.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            return CharacterSet.alphanumerics.contains(scalar) && scalar.isASCII || scalar == "-" ? String(Character(scalar)) : "_" + String(byte, radix: 16)
        }.joined()
        // File systems limit names to 255 bytes.
        return (text.utf8.count <= 200 ? text : "\(text.prefix(150))-\(hash(text.utf8))") + ".json"
    }

    private static func checksum(_ key: String, _ sections: [Content.Section]) -> UInt64 {
        var hash = hash(key.utf8)
        for section in sections {
            hash = self.hash(section.name.utf8, from: hash)
            hash = self.hash("\0\(section.count)\0".utf8, from: hash)
        }
        return hash
    }

    /// FNV-1a, whose result does not depend on the process.
    private static func hash(_ bytes: some Sequence<UInt8>, from start: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

extension PersistentStoreCoordinator {
    /// Removes the section cache with a name; without a name, all section caches of the stores (FRC-6).
    ///
    /// Not needed for correct results: a cache that does not match its request or the state of the stores has no effect.
    /// - Throws: `inputOutput` if a file cannot be removed.
    public func deleteCache(withName name: String? = nil) throws {
        for store in persistentStores where store.type == .onDisk { try SectionCache.delete(name, of: store) }
    }
}
