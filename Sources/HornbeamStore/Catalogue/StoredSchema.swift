internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// The catalogue and the model as they are stored, before they are resolved.
struct StoredSchema {
    var catalogue: Catalogue
    var model: ManagedObjectModel
    var modelBytes: [UInt8]

    init(catalogue: Catalogue, model: ManagedObjectModel, modelBytes: [UInt8]) {
        self.catalogue = catalogue
        self.model = model
        self.modelBytes = modelBytes
    }

    /// Nil when the store has none yet. If `expected` is the stored model, it is used and decoding is skipped.
    init?(_ snapshot: Snapshot, _ location: Store.Location, expecting given: ManagedObjectModel? = nil) throws {
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

    private static func unreadable(_ what: String, _ location: Store.Location) -> HornbeamError {
        HornbeamError(.damaged, "The \(what) inside “\(location)” cannot be read. Restore the store from a backup.")
    }

    func write(to transaction: WriteTransaction) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try transaction.setValue(StoredValue.catalogue, [UInt8](try encoder.encode(catalogue)))
        try transaction.setValue(StoredValue.model, modelBytes)
    }

    // MARK: A model given at opening

    /// The schema for opening the store with a model; itself when it is opened without a model.
    ///
    /// Differences outside the version hashes are allowed: class names, defaults, validation, delete rules, notes. Fetch indexes may
    /// differ too: new ones are built, removed ones are dropped. All other differences are a mismatch.
    func reconciled(
        with given: ManagedObjectModel?, in engine: Engine, _ options: Store.Options, _ location: Store.Location
    ) throws -> StoredSchema {
        guard let given, given !== model else { return self }
        if try given.isStored(as: modelBytes) { return StoredSchema(catalogue: catalogue, model: given, modelBytes: modelBytes) }
        let wanted = Catalogue(model: given)
        let differences = try differences(to: given, wanted)
        if let settings = options.migration, !options.readOnly {
            let migration = StoreMigration(engine: engine, location: location, options: options, settings: settings)
            if let migrated = try migration.run(self, to: given, isRequired: !differences.isEmpty) {
                if migrated.model === given { return migrated }
                var rest = options
                rest.migration = nil
                return try migrated.reconciled(with: given, in: engine, rest, location)
            }
        }
        guard differences.isEmpty else { throw Self.mismatch(differences, location) }
        var result = StoredSchema(catalogue: catalogue, model: given, modelBytes: try given.encoded())
        if options.readOnly { return result }
        try result.takeIndexes(of: wanted, in: engine)
        return result
    }

    private static func mismatch(_ differences: [String], _ location: Store.Location) -> HornbeamError {
        HornbeamError(
            .modelMismatch,
            "“\(location)” was made with another model: \(differences.joined(separator: "; ")). "
                + "Open it with the model it was made with, or migrate it.")
    }

    /// Drops and builds fetch indexes for the given model, and stores that model, in one commit.
    private mutating func takeIndexes(of wanted: Catalogue, in engine: Engine) throws {
        let transaction = try engine.begin()
        let kept = catalogue.indexes.filter { old in old.name == nil || wanted.indexes.contains { $0.isSame(as: old) } }
        for old in catalogue.indexes where !kept.contains(old) {
            if let tree = transaction.tree(named: old.tree) { try transaction.drop(tree) }
        }
        var fresh: [Catalogue.StoredIndex] = []
        for var index in wanted.indexes where index.name != nil && !kept.contains(where: { $0.isSame(as: index) }) {
            index.number = catalogue.nextNumber
            catalogue.nextNumber += 1
            _ = try transaction.createIndex(named: index.tree)
            fresh.append(index)
        }
        catalogue.indexes = kept + fresh
        try write(to: transaction)
        let schema = try Schema(catalogue, model: model) { transaction.tree(named: $0) }
        for index in schema.indexes where fresh.contains(where: { $0.number == index.number }) {
            try IndexBuilder.build(index, from: engine.snapshot(), in: transaction, schema: schema)
        }
        _ = try transaction.commit(.full)
    }
}

extension ManagedObjectModel {
    /// The definitions that were last found equal to stored bytes: comparing two definitions is faster than encoding one.
    private static let storedLast = Guarded<[(bytes: [UInt8], definition: ModelDefinition)]>([])
    private static let storedMost = 8

    /// True if the stored bytes encode this model.
    fileprivate func isStored(as bytes: [UInt8]) throws -> Bool {
        if let known = Self.storedLast.withLock({ $0.first { $0.bytes == bytes }?.definition }), known == definition { return true }
        guard try encoded() == bytes else { return false }
        Self.storedLast.withLock { last in
            if last.count == Self.storedMost { last.removeFirst() }
            last.append((bytes, definition))
        }
        return true
    }
}

extension Catalogue {
    /// The catalogues decoded last. Decoding is a large part of an opening, and a process often opens the same store again.
    private static let decodedLast = Guarded<[(bytes: [UInt8], catalogue: Catalogue)]>([])
    private static let decodedMost = 8

    /// Nil for bytes that this version cannot decode.
    fileprivate static func decoded(_ bytes: [UInt8]) -> Catalogue? {
        if let known = decodedLast.withLock({ $0.first { $0.bytes == bytes }?.catalogue }) { return known }
        guard let catalogue = try? JSONDecoder().decode(Catalogue.self, from: Data(bytes)) else { return nil }
        decodedLast.withLock { last in
            if last.count == decodedMost { last.removeFirst() }
            last.append((bytes, catalogue))
        }
        return catalogue
    }
}

extension Catalogue.StoredIndex {
    /// True when both have the same elements; numbers may differ.
    func isSame(as other: Catalogue.StoredIndex) -> Bool {
        entity == other.entity && name == other.name && elements == other.elements
            && isPolymorphic == other.isPolymorphic && condition == other.condition
    }
}

/// Fills an index from the stored rows.
enum IndexBuilder {
    /// `snapshot` is the state at the begin of the transaction. Returns the number of rows that violate a unique constraint.
    @discardableResult
    static func build(
        _ index: ValueIndex, from snapshot: Snapshot, in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> Int {
        var key = IndexKey()
        var doubles = 0
        for table in schema.tables(of: index.entity, includingSubentities: true) {
            let value = index.isPolymorphic ? EntityNumber.bytes(table.number) : []
            try snapshot.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    try index.fill(&key, from: leaf.row(slot), of: table)
                    if key.isOutside || (index.isUnique && key.hasNull) { continue }
                    if key.isCut { try transaction.setValue(index.cutKeysName, [1]) }
                    guard !index.isUnique else {
                        let object = ObjectReference(entityIndex: table.index, key: leaf.key(slot))
                        let holder = try UniqueKeys.take(index, &key, for: object, in: transaction, schema: schema)
                        doubles += holder == nil ? 0 : 1
                        continue
                    }
                    key.append(objectKey: leaf.key(slot))
                    try transaction.put(key.bytes, value, in: index.tree)
                }
                return true
            }
        }
        return doubles
    }
}
