import Foundation
import HornbeamEngine
import HornbeamModel
import Synchronization
@testable import HornbeamStore

/// A library: inheritance, every kind of relationship, every kind of index.
let libraryModel: ManagedObjectModel = {
    do {
        return try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string, unique: true)
                Attribute("born", .integer32, optional: true, indexed: true)
                ToMany("publications", to: "Publication", inverse: "author")
                ToMany("friends", to: "Author", inverse: "friends")
                ToOne("desk", to: "Desk", inverse: "author")
            }
            Entity("Desk") {
                Attribute("place", .string, optional: true)
                ToOne("author", to: "Author", inverse: "desk")
            }
            Entity("Publication", abstract: true) {
                Attribute("title", .string)
                Attribute("isbn", .string, optional: true, unique: true)
                Attribute("year", .integer16, optional: true)
                Attribute("price", .decimal, optional: true)
                ToOne("author", to: "Author", inverse: "publications")
                ToMany("tags", to: "Tag", inverse: "publications")
                ToOne("successor", to: "Publication")
                Indexed(.folded("title"), .descending("year"), name: "title_year")
                Indexed(.descending("year"), name: "year")
            }
            Entity("Book", parent: "Publication") {
                Attribute("pages", .integer32, optional: true, indexed: true)
                ToOne("shelf", to: "Shelf", inverse: "books")
            }
            Entity("Journal", parent: "Publication") {
                Attribute("issue", .integer64, optional: true)
            }
            Entity("Tag") {
                Attribute("label", .string)
                Attribute("language", .string, optional: true)
                ToMany("publications", to: "Publication", inverse: "tags")
                Unique("label", "language")
            }
            Entity("Shelf") {
                Attribute("name", .string, optional: true)
                OrderedToMany("books", to: "Book", inverse: "shelf")
                OrderedToMany("visitors", to: "Author")
                ToMany("favourites", to: "Publication")
            }
            Entity("Values") {
                Attribute("int16", .integer16, optional: true, indexed: true)
                Attribute("int32", .integer32, optional: true, indexed: true)
                Attribute("int64", .integer64, optional: true, indexed: true)
                Attribute("double", .double, optional: true, indexed: true)
                Attribute("float", .float, optional: true, indexed: true)
                Attribute("bool", .boolean, optional: true, indexed: true)
                Attribute("date", .date, optional: true, indexed: true)
                Attribute("decimal", .decimal, optional: true, indexed: true)
                Attribute("string", .string, optional: true, indexed: true)
                Attribute("uri", .uri, optional: true, indexed: true)
                Attribute("data", .binary, optional: true, indexed: true)
                Attribute("uuid", .uuid, optional: true, indexed: true)
                Attribute("other", .objectID, optional: true, indexed: true)
                Attribute("scratch", .undefined, optional: true, transient: true)
            }
        }
    } catch {
        fatalError("The library's model is wrong: \(error)")
    }
}()

/// A store in memory, alone under its name.
struct Library {
    private static let counter = Atomic<Int>(0)
    let name: String
    let store: Store

    init(model: ManagedObjectModel = libraryModel, options: Store.Options = Store.Options()) throws {
        name = "library-\(Self.counter.add(1, ordering: .relaxed).newValue)"
        store = try Store.open(.memory(name: name), model: model, options: options)
    }

    func entity(_ name: String) -> EntityDescription { store.model.entitiesByName[name]! }

    func property(_ name: String, of entity: String) -> PropertyDescription {
        self.entity(entity).propertiesByName[name]!
    }

    /// A store opened elsewhere.
    init(_ store: Store) {
        name = "\(store.location)"
        self.store = store
    }

    // MARK: Saving

    /// Values by name; to-ones are object references.
    typealias Values = [String: PropertyValue]

    func pairs(_ entity: String, _ values: Values) -> [(PropertyDescription, PropertyValue)] {
        values.sorted { $0.key < $1.key }.map { (property($0.key, of: entity), $0.value) }
    }

    @discardableResult
    func insert(_ entity: String, _ values: Values = [:]) throws -> ObjectReference {
        var changes = ChangeSet()
        let object = try add(entity, values, to: &changes)
        _ = try store.save(changes)
        return object
    }

    func add(_ entity: String, _ values: Values = [:], to changes: inout ChangeSet) throws -> ObjectReference {
        let key = try store.reserveKeys(1)
        changes.inserts.append(
            ChangeSet.Insert(entity: self.entity(entity), key: key, values: pairs(entity, values)))
        return ObjectReference(self.entity(entity), key)
    }

    func update(_ object: ObjectReference, _ values: Values = [:], version: UInt32? = nil) throws {
        _ = try store.save(updating(object, values, version: version))
    }

    func updating(_ object: ObjectReference, _ values: Values, version: UInt32? = nil) throws -> ChangeSet {
        var changes = ChangeSet()
        let entity = store.model.entities[Int(object.entityIndex)]
        changes.updates.append(
            ChangeSet.Update(
                entity: entity, key: object.key, expectedVersion: try version ?? self.version(object),
                values: pairs(entity.name, values)))
        return changes
    }

    func delete(_ objects: ObjectReference...) throws {
        var changes = ChangeSet()
        for object in objects {
            changes.deletes.append(
                ChangeSet.Delete(
                    entity: store.model.entities[Int(object.entityIndex)], key: object.key,
                    expectedVersion: try version(object)))
        }
        _ = try store.save(changes)
    }

    func link(
        _ relationship: PropertyDescription, _ owner: ObjectReference, add: [ObjectReference] = [],
        remove: [ObjectReference] = [], order: [ObjectReference]? = nil
    ) throws {
        var changes = ChangeSet()
        changes.links.append(
            ChangeSet.Link(relationship: relationship, owner: owner, added: add, removed: remove, order: order))
        _ = try store.save(changes)
    }

    func id(_ object: ObjectReference?) -> PropertyValue {
        object.map { .objectID(store.objectID($0)) } ?? .null
    }

    // MARK: Reading

    func row(_ object: ObjectReference) throws -> RowValues? {
        try store.snapshot().values(store.model.entities[Int(object.entityIndex)], object.key)
    }

    func version(_ object: ObjectReference) throws -> UInt32 { try row(object)?.version ?? 0 }

    func value(_ object: ObjectReference, _ name: String) throws -> PropertyValue? {
        let entity = store.model.entities[Int(object.entityIndex)]
        return try row(object)?.values[entity.propertiesByName[name]!.index]
    }

    func members(_ object: ObjectReference, _ name: String) throws -> [ObjectReference] {
        let entity = store.model.entities[Int(object.entityIndex)]
        let relationship = entity.propertiesByName[name]!
        let members = try store.snapshot().members(of: relationship, owner: object.key)
        let count = try store.snapshot().memberCount(of: relationship, owner: object.key)
        precondition(members.count == count, "count and members of \(name) differ")
        return members
    }
}

/// Repeatable random numbers, for tests that print their seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
