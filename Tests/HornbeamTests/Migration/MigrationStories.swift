// The examples of `Docs/Migration.md`, compiled and run. `DocumentRules` compares the text between the markers with the page:
// change both together.

import Foundation
import Hornbeam
import HornbeamStore
import Testing

// snippet
func addAndRename(at url: URL) throws -> PersistentContainer {
    let second = try ManagedObjectModel {
        Entity("Writer", renamedFrom: "Author") {
            Attribute("fullName", .string, renamedFrom: "name")
            Attribute("rating", .integer16, default: 3)
        }
    }
    return try PersistentContainer.open(at: url, model: second)    // migrates the store of the first version
}
// end

// snippet
enum ContactsV1: VersionedSchema {
    static let classes: [ManagedObject.Type] = [Person.self]

    @Entity final class Person: ManagedObject {
        var name: String
        var street: String?
        var city: String?
    }
}

enum ContactsV2: VersionedSchema {
    static let classes: [ManagedObject.Type] = [Person.self, Address.self]

    @Entity final class Person: ManagedObject {
        var name: String
        @Relationship(deleteRule: .cascade, inverse: \Address.person) var addresses: ManagedSet<Address>
    }

    @Entity final class Address: ManagedObject {
        var street: String
        var city: String
        var person: Person?
    }
}

func splitAddresses() throws -> MigrationPlan {
    try MigrationPlan([
        .custom(from: ContactsV1.self, to: ContactsV2.self, label: "split addresses") { migration in
            try migration.forEach(ContactsV1.Person.self, to: ContactsV2.Person.self) { old, new in
                guard let street = old.street else { return }
                ContactsV2.Address(in: migration.destination, street: street, city: old.city ?? "unknown", person: new)
            }
        }
    ])
}
// end

// snippet
func pagesBecomeNumbers(_ first: ManagedObjectModel, _ second: ManagedObjectModel) throws -> MigrationPlan {
    try MigrationPlan([
        .lightweight(
            from: first, to: second, label: "pages are numbers",
            changing: [EntityMapping(to: "Book", [PropertyMapping("pages", from: .converted("pages"))])])
    ])
}

/// The values that cannot be converted: those that the error names, corrected with the old model.
func correctPages(in container: PersistentContainer, _ error: HornbeamError) throws {
    try container.write { context in
        for detail in error.details where detail.key == "pages" {
            for id in detail.objectIDs {
                guard let uri = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()) else { continue }
                try context.existingObject(with: uri).setValue(.null, forKey: "pages")
            }
        }
    }
}
// end

@Suite struct MigrationStories {
    @Test("MOD-13, MIG-2: add and rename")
    func attributesAreAddedAndRenamed() throws {
        let store = try MigratedStore()
        let first = try ManagedObjectModel { Entity("Author") { Attribute("name", .string) } }
        try store.with(first) { (context) throws in try context.insert("Author", ["name": "Ursula"]) }
        let container = try addAndRename(at: store.url)
        #expect(try container.newContext().values("Writer", "fullName") == ["Ursula"])
        #expect(try container.newContext().values("Writer", "rating") == [3])
        try container.close()
    }

    @Test("MIG-11, SWD-7, SWD-8: an entity is split by a custom stage, with the classes of both versions")
    func addressesAreSplit() throws {
        let store = try MigratedStore()
        let first = try PersistentContainer.open(at: store.url, model: ContactsV1.model(), classes: ContactsV1.classes)
        let ids = try first.write { context in
            [("Ada", "St James's Square", "London"), ("Alan", "Adlington Road", nil), ("Grace", nil, nil)].map { name, street, city in
                ContactsV1.Person(in: context, name: name, street: street, city: city).objectID
            }
        }
        try first.close()
        let second = try store.open(splitAddresses())
        let context = second.newContext()
        let people = try context.fetch(FetchRequest<ContactsV2.Person>().sorted(by: "name"))
        #expect(people.map(\.name) == ["Ada", "Alan", "Grace"])
        #expect(people.map { $0.addresses.map(\.city) } == [["London"], ["unknown"], []])
        #expect(people.map { $0.objectID.uriRepresentation() } == ids.map { $0.uriRepresentation() })
        #expect(try second.openStore().check().problems == [])
        try second.close()
    }

    @Test("N-11, MIG-6: a type is changed; values that cannot be converted are named with their objects, and nothing changes")
    func typesAreChanged() throws {
        let store = try MigratedStore()
        func model(_ type: AttributeType) throws -> ManagedObjectModel {
            try ManagedObjectModel {
                Entity("Book") {
                    Attribute("title", .string)
                    Attribute("pages", type, optional: true)
                }
            }
        }
        let (first, second) = (try model(.string), try model(.integer32))
        try store.with(first) { (context) throws in
            for (title, pages) in [("a", "12"), ("b", " 300 "), ("c", "many"), ("d", "3.5")] {
                try context.insert("Book", ["title": .string(title), "pages": .string(pages)])
            }
            try context.insert("Book", ["title": "e"])
        }
        let error = try #require(hornbeamError { _ = try store.open(pagesBecomeNumbers(first, second)) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.value) == ["many", "3.5"])
        #expect(error.details.allSatisfy { $0.code == .typeMismatch && $0.entity == "Book" && $0.key == "pages" && $0.objectIDs.count == 1 })
        let container = try store.open(first)
        #expect(try container.newContext().values("Book", "pages", sortedBy: "title") == ["12", " 300 ", "many", "3.5", .null])
        try correctPages(in: container, error)
        try container.close()
        let migrated = try store.open(pagesBecomeNumbers(first, second))
        #expect(try migrated.newContext().values("Book", "pages", sortedBy: "title") == [12, 300, .null, .null, .null])
        #expect(try migrated.openStore().check().problems == [])
        try migrated.close()
    }
}
