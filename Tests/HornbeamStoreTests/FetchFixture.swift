import Foundation
import HornbeamModel
@testable import HornbeamStore

/// A library filled randomly, with the same objects in memory as the reference for fetches.
final class FilledLibrary {
    let library: Library
    private(set) var objects: [MemoryObject] = []
    private var generator: SeededGenerator
    /// The entities used in fetches.
    let fetchable: [String]

    init(seed: UInt64, size: Int = 40, in store: Store? = nil) throws {
        library = try store.map { Library($0) } ?? Library()
        generator = SeededGenerator(seed: seed)
        fetchable = ["Publication", "Book", "Journal", "Author", "Tag", "Values", "Values", "Publication"]
        try fill(size)
    }

    /// A random model with the entities of `RandomModel`.
    init(randomModel seed: UInt64, size: Int = 80) throws {
        generator = SeededGenerator(seed: seed)
        let model = RandomModel(&generator)
        library = try Library(model: try model.model())
        fetchable = ["Thing", "Thing", "Special", "Owner"]
        try fill(size, model)
    }

    // MARK: Filling

    private func fill(_ size: Int) throws {
        var changes = ChangeSet()
        let authors = try (0 ..< size / 4).map { number in
            try add("Author", ["name": .string("\(name())\(number)"), "born": some(.int(pick(1900 ... 1910)))], &changes)
        }
        let tags = try (0 ..< 8).map { number in
            try add("Tag", ["label": .string("t\(number % 5)"), "language": some(.string(["de", "en"][number % 2] + "\(number)"))], &changes)
        }
        for number in 0 ..< size {
            var values: Library.Values = [
                "title": .string(name()), "isbn": some(.string("\(number)")), "year": some(.int(self.pick(1950 ... 1960))),
                "price": some(.decimal(Decimal(self.pick(0 ... 9)) / 4)),
            ]
            if let author = authors.randomElement(using: &generator), roll(4) > 0 { values["author"] = library.id(author.reference) }
            let isBook = roll(3) > 0
            values[isBook ? "pages" : "issue"] = some(.int(self.pick(0 ... 5) * 100))
            let publication = try add(isBook ? "Book" : "Journal", values, &changes)
            let chosen = tags.filter { _ in roll(3) == 0 }
            changes.links.append(
                ChangeSet.Link(
                    relationship: library.property("tags", of: "Publication"), owner: publication.reference,
                    added: chosen.map(\.reference)))
            publication.links["tags"] = chosen
            for tag in chosen { tag.links["publications", default: []].append(publication) }
        }
        for _ in 0 ..< size { _ = try add("Values", values(), &changes) }
        _ = try library.store.save(changes)
        for object in objects { object.resolve(in: self) }
    }

    private func fill(_ size: Int, _ model: RandomModel) throws {
        var changes = ChangeSet()
        let owners = try (0 ..< size / 8).map { number in
            try add("Owner", ["name": .string("\(name())\(number)"), "rank": .int(self.pick(0 ... 4))], &changes)
        }
        for number in 0 ..< size {
            let entity = roll(3) == 0 ? "Special" : "Thing"
            var values = self.values(entity)
            values["serial"] = .int(Int64(number))
            for property in library.entity(entity).attributes where !property.isOptional && values[property.name]?.isNull == true {
                values[property.name] = model.zero(property.name)
            }
            if roll(4) > 0 { values["author"] = library.id(owners.randomElement(using: &generator)!.reference) }
            _ = try add(entity, values, &changes)
        }
        _ = try library.store.save(changes)
        for object in objects { object.resolve(in: self) }
    }

    private func values(_ entity: String = "Values") -> Library.Values {
        var values: Library.Values = [:]
        for property in library.entity(entity).attributes {
            guard let type = property.cellType, type != .objectID else { continue }
            values[property.name] = RandomValue.of(type, using: &generator)
        }
        return values
    }

    private func add(_ entity: String, _ values: Library.Values, _ changes: inout ChangeSet) throws -> MemoryObject {
        let reference = try library.add(entity, values, to: &changes)
        let object = MemoryObject(reference, library.entity(entity), values, library.id(reference))
        objects.append(object)
        return object
    }

    private func roll(_ sides: Int) -> Int { .random(in: 0 ..< sides, using: &generator) }
    private func pick(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &generator) }
    private func some(_ value: PropertyValue) -> PropertyValue { roll(6) == 0 ? .null : value }
    private func name() -> String {
        ["Ada", "ada", "Åsa", "Bob", "bö", "Zoë", "zoe", "", "B", "Straße", "STRASSE"].randomElement(using: &generator)!
    }

    // MARK: The reference

    func object(_ id: PropertyValue?) -> MemoryObject? { objects.first { $0.id == id } }

    func objects(of entity: EntityDescription, includesSubentities: Bool = true) -> [MemoryObject] {
        objects.filter { includesSubentities ? $0.entity.isKind(of: entity) : $0.entity == entity }
    }

    /// The expected result of a fetch: every object tested, sorted, limited.
    func expected(_ request: FetchDescription) throws -> [ObjectReference] {
        let entity = library.entity(request.entityName)
        var found = try objects(of: entity, includesSubentities: request.includesSubentities).filter { object in
            try request.predicate?.evaluate(with: object) ?? true
        }
        try found.sort { a, b in
            for sort in request.sortDescriptors {
                let order = try a.order(b, sort)
                if order != .same { return (order == .less) == sort.isAscending }
            }
            return a.reference.key < b.reference.key
        }
        let rest = found.dropFirst(request.fetchOffset)
        return (request.fetchLimit > 0 ? rest.prefix(request.fetchLimit) : rest).map(\.reference)
    }
}

/// An object of the reference model.
final class MemoryObject: KeyedValues {
    let reference: ObjectReference
    let entity: EntityDescription
    let id: PropertyValue
    private let values: [String: PropertyValue]
    private var toOnes: [String: MemoryObject] = [:]
    var links: [String: [MemoryObject]] = [:]

    init(_ reference: ObjectReference, _ entity: EntityDescription, _ values: Library.Values, _ id: PropertyValue) {
        self.reference = reference
        self.entity = entity
        self.id = id
        self.values = values
    }

    func refer(_ toOne: String, to target: MemoryObject) { toOnes[toOne] = target }

    func resolve(in library: FilledLibrary) {
        for property in entity.relationships where property.isToOne {
            guard let target = library.object(values[property.name]) else { continue }
            toOnes[property.name] = target
            if let inverse = property.inverse, inverse.isToMany { target.links[inverse.name, default: []].append(self) }
        }
    }

    var evaluatedIdentity: PropertyValue? { id }

    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        let property = try entity.property(named: key)
        if property.isToMany {
            return .collection((links[key] ?? []).map { .object($0) }, isOrdered: property.isOrdered)
        }
        if property.isToOne { return toOnes[key].map { .object($0) } ?? .value(.null) }
        let value = values[key] ?? .null
        return .value(try value.coerced(to: property.attributeType))
    }

    func order(_ other: MemoryObject, _ sort: FetchSort) throws -> ValueOrder {
        let (a, b) = (try value(sort.keyPath), try other.value(sort.keyPath))
        guard case .string(let x) = a, case .string(let y) = b else { return a.sortOrder(to: b) }
        switch sort.comparison {
        case .standard: return a.sortOrder(to: b)
        case .caseInsensitive:
            let (p, q) = (Folding.fold(x, .caseInsensitive), Folding.fold(y, .caseInsensitive))
            return p == q ? .same : (p.lexicographicallyPrecedes(q) ? .less : .greater)
        case .localizedStandard: return Folding.localizedStandardOrder(x, y)
        }
    }

    private func value(_ path: String) throws -> PropertyValue {
        var current = EvaluatedValue.object(self)
        for step in path.split(separator: ".") {
            guard case .object(let object) = current else { return .null }
            current = try object.evaluatedValue(forKey: String(step))
        }
        return current.propertyValue ?? .null
    }
}

/// Fetches in the form that tests write them; each request is validated first.
extension StoreSnapshot {
    func validated(_ request: FetchDescription) throws -> ValidatedFetch { try ValidatedFetch(request, in: schema.model) }

    func fetch(_ request: FetchDescription, excluding: Set<UInt64> = [], control: FetchControl? = nil) throws -> FetchAnswer {
        try fetch(validated(request), excluding: excluding, control: control)
    }

    func count(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> Int { try count(validated(request), excluding: excluding) }

    func countAnswer(_ request: FetchDescription) throws -> CountAnswer { try countAnswer(validated(request)) }

    func explain(_ request: FetchDescription) throws -> String { try explain(validated(request)) }

    func groups(_ request: FetchDescription, _ program: DictionaryProgram, in context: FilterContext) throws -> DictionaryAnswer {
        try groups(validated(request), program, in: context)
    }
}

extension FetchPlan {
    init(_ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool) throws {
        try self.init(snapshot.validated(request), in: snapshot, counting: counting)
    }

    static func all(_ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool) throws -> [FetchPlan] {
        try all(snapshot.validated(request), in: snapshot, counting: counting)
    }
}
