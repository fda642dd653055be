internal import HornbeamEngine
internal import HornbeamModel

/// The planned change of each tree of a store, computed from the catalogue, the mapping and the row counts before anything is written.
///
/// Invariants:
/// - Entities, columns and relationships that the new version still has keep their numbers, even if they are renamed.
/// - A new column has a number that was never used, so that older leaves return its fill value.
/// - A rebuilt tree has a new name; the old tree is unchanged until the commit that switches to the new catalogue.
struct MigrationDraft {
    let old: StoredSchema
    let new: ManagedObjectModel
    let mapping: MappingModel
    let snapshot: Snapshot
    /// The number of leaves that the commit of the new version may still replace, in all tables together.
    var leavesInPlace: Int
    /// The catalogue of the new version.
    var catalogue = Catalogue()
    var tables: [TableStep] = []
    var links: [LinkStep] = []
    var indexes: [IndexStep] = []
    /// The trees of the old version that the new one does not use.
    var dropped: [String] = []
    /// Values that the new model requires and that the old data may lack.
    var required: [RequiredProperty] = []

    init(
        _ old: StoredSchema, to new: ManagedObjectModel, by mapping: MappingModel, _ snapshot: Snapshot, _ engine: Engine
    ) throws(EngineError) {
        self.old = old
        self.new = new
        self.mapping = mapping
        self.snapshot = snapshot
        // More leaves are rebuilt in steps, which report progress and can be continued after an interruption.
        leavesInPlace = engine.options.poolBytes / engine.options.pageSize / 4
        catalogue.collation = old.catalogue.collation
        catalogue.nextNumber = old.catalogue.nextNumber
        catalogue.pastVersions = old.catalogue.pastVersions
        if old.model.versionChecksum != new.versionChecksum { catalogue.pastVersions = (catalogue.pastVersions ?? []) + [old.model.versionChecksum] }
        try makeEntities()
        try planTables()
        try planLinks()
        try planIndexes()
        findDroppedTrees()
        findRequired()
    }

    mutating func takeNumber() -> Int {
        defer { catalogue.nextNumber += 1 }
        return catalogue.nextNumber
    }

    // MARK: The old version

    /// The source entity of an entity; nil for a new one.
    func predecessor(of entity: EntityDescription) -> EntityDescription? {
        mapping.mapping(toEntityNamed: entity.name)?.sourceEntityName.flatMap { old.model.entitiesByName[$0] }
    }

    /// The source of a property of a concrete entity; nil when it has none.
    func sourceProperty(of property: PropertyDescription, in entity: EntityDescription) -> PropertyDescription? {
        guard let before = predecessor(of: entity), let found = mapping.mapping(toEntityNamed: entity.name)?.mapping(ofPropertyNamed: property.name)
        else { return nil }
        return found.sourceName.flatMap { before.propertiesByName[$0] }
    }

    func source(of property: PropertyDescription, in entity: EntityDescription) -> PropertyMapping.Source? {
        mapping.mapping(toEntityNamed: entity.name)?.mapping(ofPropertyNamed: property.name)?.source
    }

    /// The concrete source entities of the concrete entities that have a property, each with the source property.
    func sources(of property: PropertyDescription) -> [PropertySource] {
        property.entity.concreteDescendants.compactMap { entity in
            guard let before = predecessor(of: entity), !before.isAbstract,
                let source = sourceProperty(of: property, in: entity)
            else { return nil }
            return PropertySource(entity: entity, oldEntity: before, property: source)
        }
    }

    struct PropertySource {
        /// The new entity.
        let entity: EntityDescription
        let oldEntity: EntityDescription
        /// The old property.
        let property: PropertyDescription
    }

    func oldColumn(_ property: PropertyDescription, of entity: EntityDescription) -> Catalogue.StoredProperty? {
        old.catalogue.columns(of: entity.name).first { $0.name == property.name }
    }

    func oldRelationship(_ property: PropertyDescription) -> Catalogue.StoredRelationship? {
        old.catalogue.relationships.first { $0.entity == property.entity.name && $0.name == property.name }
    }

    /// The number of a concrete entity of the old version.
    func oldNumber(of entity: EntityDescription) -> UInt32 {
        UInt32(old.catalogue.entity(named: entity.name)?.number ?? 0)
    }

    func number(of entity: EntityDescription) -> UInt32 { UInt32(catalogue.entity(named: entity.name)?.number ?? 0) }

    /// The rows of a concrete entity of the old version.
    func oldRows(_ entity: EntityDescription) throws(EngineError) -> TableView? {
        guard !entity.isAbstract, let stored = old.catalogue.entity(named: entity.name), let tree = snapshot.tree(named: stored.tree) else {
            return nil
        }
        return try snapshot.table(tree)
    }

    func oldRowCount(_ entity: EntityDescription) throws(EngineError) -> Int { try oldRows(entity)?.count ?? 0 }

    /// The ID of an object under its old entity, which both models can look up; its own ID if the old version does not have the object.
    func oldID(_ object: ObjectReference, _ old: StoreIdentities, _ new: StoreIdentities) -> ManagedObjectID {
        let step = tables.first { $0.entity.index == Int(object.entityIndex) }
        guard let before = step?.oldEntity, (try? oldRows(before)?.contains(object.key)) == true else { return new.objectID(object) }
        return old.objectID(ObjectReference(before, object.key))
    }

    // MARK: Dropped trees

    private mutating func findDroppedTrees() {
        let before = Set(old.catalogue.tables.map(\.name) + old.catalogue.indexTrees)
        let after = Set(catalogue.tables.map(\.name) + catalogue.indexTrees)
        dropped = before.subtracting(after).sorted()
    }

    /// The trees that only the new version has.
    var createdTables: [(name: String, layout: ColumnLayout)] {
        let before = Set(old.catalogue.tables.map(\.name))
        return tables.filter { !before.contains($0.stored.tree) }.map { ($0.stored.tree, $0.layout) }
    }

    var createdIndexes: [String] {
        let before = Set(old.catalogue.indexTrees)
        return catalogue.indexTrees.filter { !before.contains($0) }
    }

    /// True when trees are filled before the commit that switches to the new version.
    var builds: Bool { tables.contains(where: \.isRewritten) || links.contains(where: \.isBuilt) || indexes.contains(where: \.isBuilt) }

    /// True when rows or entries are written, in or before that commit.
    var writesRows: Bool { builds || tables.contains { $0.way == .fill } }

    /// True when the store's rows, relationships, constraints or indexes differ from those of the new model.
    var changesShape: Bool {
        tables.contains { $0.way != .keep } || links.contains { $0.isBuilt || $0.stored != $0.old } || !dropped.isEmpty
            || catalogue.entities != old.catalogue.entities || catalogue.relationships != old.catalogue.relationships
            || indexes.contains { !old.catalogue.indexes.contains($0.stored) } || !required.isEmpty || !derivedEntities.isEmpty
    }

    /// The concrete entities with rows whose derived attributes must be computed.
    var derivedEntities: [EntityDescription] {
        tables.filter { $0.rowCount > 0 && !derived(in: $0.entity).isEmpty }.map(\.entity)
    }

    /// The derived attributes that are new or changed, or whose sources change.
    func derived(in entity: EntityDescription) -> [PropertyDescription] {
        entity.properties.filter { source(of: $0, in: entity) == .derivation || isStale($0, in: entity) }
    }
}
