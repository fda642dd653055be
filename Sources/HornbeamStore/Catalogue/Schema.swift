internal import HornbeamEngine
internal import HornbeamModel

/// The resolved catalogue of an open store: the table, columns, indexes and relationships of each entity of the model.
final class Schema: Sendable {
    let model: ManagedObjectModel
    let catalogue: Catalogue
    /// Indexed by `entity.index`; nil for abstract entities.
    let tables: [EntityTable?]
    /// All to-many relationships.
    let links: [LinkIndex]
    /// All unique and fetch indexes.
    let indexes: [ValueIndex]
    let derivations: DerivationPlan
    /// The plans of request shapes.
    let keptPlans = ShapeTable()
    /// Entity numbers → `entity.index`; -1 for unknown numbers.
    private let entityIndexes: [Int32]
    /// By `entity.index`: the places of an entity and its subentities in a walk that visits an entity before its subentities.
    private let familyPlaces: [Range<Int32>]
    /// The link index of each to-many, by `entity.index` and property index; nil for other properties.
    private let linksByOwner: [[LinkIndex?]]
    /// False in the cache of a querying store, whose rows may lack index entries.
    let findsByIndexes: Bool
    /// The index that finds objects by the value of one attribute (see `isLookupIndex`); a unique index is preferred.
    private let lookupIndexes: [ObjectIdentifier: ValueIndex]

    init(
        model: ManagedObjectModel, catalogue: Catalogue, tables: [EntityTable?], links: [LinkIndex], indexes: [ValueIndex], findsByIndexes: Bool
    ) {
        self.findsByIndexes = findsByIndexes
        self.model = model
        self.catalogue = catalogue
        self.tables = tables
        self.links = links
        self.indexes = indexes
        derivations = DerivationPlan(model)
        var numbers = [Int32](repeating: -1, count: catalogue.nextNumber)
        for stored in catalogue.entities {
            // Rows belong to concrete entities only. A damaged cell that names an abstract one resolves to no entity.
            guard let entity = model.entitiesByName[stored.name], tables[entity.index] != nil else { continue }
            numbers[stored.number] = Int32(entity.index)
        }
        entityIndexes = numbers
        familyPlaces = Self.familyPlaces(of: model)
        lookupIndexes = Dictionary(
            indexes.filter { findsByIndexes && $0.isLookupIndex }.map { (ObjectIdentifier($0.elements[0].property), $0) },
            uniquingKeysWith: { first, second in second.isUnique && !first.isUnique ? second : first })
        linksByOwner = model.entities.map { entity in
            var slots = [LinkIndex?](repeating: nil, count: entity.properties.count)
            for link in links where entity.isKind(of: link.relationship.entity) {
                slots[link.relationship.index] = link
            }
            return slots
        }
    }

    /// The table of a concrete entity.
    func table(_ entity: EntityDescription) -> EntityTable { table(at: Int32(entity.index)) }

    func table(at index: Int32) -> EntityTable {
        guard index >= 0, index < tables.count, let table = tables[Int(index)] else {
            preconditionFailure("Rows belong to concrete entities of the store's model; there is none at index \(index).")
        }
        return table
    }

    /// The model's index of an entity number that a row contains; nil for a number that the catalogue lacks.
    func entityIndex(number: UInt32) -> Int32? {
        guard number < entityIndexes.count, entityIndexes[Int(number)] >= 0 else { return nil }
        return entityIndexes[Int(number)]
    }

    /// The model's index of an entity number that a row or an entry of an index contains. Nil also for an entity that is neither `ancestor` nor one of its
    /// subentities: a damaged row can name any entity.
    func entityIndex(number: UInt32, within ancestor: Int32) -> Int32? {
        guard let index = entityIndex(number: number), ancestor >= 0,
            familyPlaces[Int(ancestor)].contains(familyPlaces[Int(index)].lowerBound)
        else { return nil }
        return index
    }

    private static func familyPlaces(of model: ManagedObjectModel) -> [Range<Int32>] {
        var places = [Range<Int32>](repeating: 0..<0, count: model.entities.count)
        var next: Int32 = 0
        func visit(_ entity: EntityDescription) {
            let first = next
            next += 1
            for subentity in entity.subentities { visit(subentity) }
            places[entity.index] = first..<next
        }
        for entity in model.entities where entity.superentity == nil { visit(entity) }
        return places
    }

    /// The tables that a fetch of the entity reads, in the model's order.
    func tables(of entity: EntityDescription, includingSubentities: Bool) -> [EntityTable] {
        if includingSubentities { return entity.concreteDescendants.map(table) }
        return entity.isAbstract ? [] : [table(entity)]
    }

    /// The link index of a to-many, for any entity that has the relationship.
    func link(_ relationship: PropertyDescription) -> LinkIndex {
        guard let link = linksByOwner[relationship.entity.index][relationship.index] else {
            preconditionFailure("“\(relationship.name)” of \(relationship.entity.name) is not a stored to-many relationship.")
        }
        return link
    }

    /// The index that finds objects by the value of an attribute. If a subentity declares it, it contains only rows of that subentity.
    func lookupIndex(of property: PropertyDescription) -> ValueIndex? { lookupIndexes[ObjectIdentifier(property)] }

    /// The to-many relationships of an entity by property index; nil elsewhere.
    func links(ofOwner index: Int32) -> [LinkIndex?] { linksByOwner[Int(index)] }
}

extension ValueIndex {
    /// True when the index contains the unmodified values of one attribute, of every row that has a value.
    fileprivate var isLookupIndex: Bool {
        isPlain && elements.count == 1 && elements[0].collation == .binary && elements[0].type != .reference
            && elements[0].type != .objectID
    }
}
