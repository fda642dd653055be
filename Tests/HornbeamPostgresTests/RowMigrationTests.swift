#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Migrations by plans with mappings and code, and fetch indexes, in a real PostgreSQL server.
@Suite(.enabled(if: PostgresServer.isThere)) struct RowMigrationTests {
    private static func first() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
                Attribute("city", .string, optional: true)
                Attribute("price", .integer64, default: 1)
                Attribute("count", .integer64, default: 1)
                Attribute("pages", .string, optional: true)
                ToMany("friends", to: "Person", inverse: "friends")
            }
        }
    }

    /// Makes three people of the first version, two of whom are friends.
    private func filledSchema() throws -> (schema: String, ids: [ManagedObjectID]) {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema, Self.first())
        let context = container.newContext()
        let people = try ["Ann", "Bob", "Cem"].enumerated().map { number, name in
            let person = try context.insert(entityNamed: "Person")
            try person.setValue(.string(name), forKey: "name")
            try person.setValue(.string("city \(number % 2)"), forKey: "city")
            try person.setValue(.int(Int64(number + 2)), forKey: "price")
            try person.setValue(.string("\(number * 10)"), forKey: "pages")
            return person
        }
        try people[0].setValue(.set([.objectID(people[1].objectID)]), forKey: "friends")
        try context.save()
        try container.close()
        return (schema, people.map(\.objectID))
    }

    private func open(_ schema: String, _ plan: MigrationPlan) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", plan: plan)
        container.persistentStoreDescriptions = [.postgres(PostgresServer.connection ?? "", schema: schema, connectionsMax: 3, migrates: true)]
        try container.loadPersistentStores()
        return container
    }

    private func values(_ container: PersistentContainer, _ entity: String, _ key: String) throws -> [PropertyValue] {
        try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: entity, sortedBy: [FetchSort("name")])).map { try $0.value(forKey: key) }
    }

    @Test("MIG-6: values are computed and converted by a mapping; objects keep their IDs and relationships")
    func mappingIsExecuted() throws {
        let (schema, ids) = try filledSchema()
        let second = try ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
                Attribute("total", .integer64)
                Attribute("pages", .integer32, optional: true)
                ToMany("friends", to: "Person", inverse: "friends")
            }
        }
        let plan = try MigrationPlan([
            .lightweight(
                from: Self.first(), to: second,
                changing: [EntityMapping(to: "Person", [try PropertyMapping("total", "price * 100 + count"), PropertyMapping("pages", from: .converted("pages"))])])
        ])
        let container = try open(schema, plan)
        #expect(try values(container, "Person", "total") == [201, 301, 401])
        #expect(try values(container, "Person", "pages") == [0, 10, 20])
        let ann = try container.newContext().existingObject(with: ids[0])
        #expect(try ann.objectIDs(forRelationshipNamed: "friends") == [ids[1]])
        let context = container.newContext()
        let new = try context.insert(entityNamed: "Person")
        try new.setValue("Dan", forKey: "name")
        try new.setValue(1, forKey: "total")
        try context.save()
        #expect(new.objectID.reference > (ids.map(\.reference).max() ?? 0))
        try container.close()
        #expect(try values(open(schema, plan), "Person", "name") == ["Ann", "Bob", "Cem", "Dan"])
    }

    private static func withCities() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
                ToOne("home", to: "City", inverse: "people")
                ToMany("friends", to: "Person", inverse: "friends")
            }
            Entity("City") {
                Attribute("name", .string, unique: true)
                OrderedToMany("people", to: "Person", inverse: "home")
            }
        }
    }

    @Test("MIG-11: the code of a stage splits an entity")
    func codeSplitsAnEntity() throws {
        let (schema, ids) = try filledSchema()
        let plan = try MigrationPlan([
            .custom(from: Self.first(), to: Self.withCities(), label: "cities") { migration in
                var cities: [PropertyValue: ManagedObject] = [:]
                try migration.forEach("Person") { (old: ManagedObject, new: ManagedObject) in
                    let name = try old.value(forKey: "city")
                    let city = try cities[name] ?? migration.destination.insert(entityNamed: "City")
                    try city.setValue(name, forKey: "name")
                    cities[name] = city
                    try new.setValue(.objectID(city.objectID), forKey: "home")
                }
            }
        ])
        let container = try open(schema, plan)
        #expect(try values(container, "City", "name") == ["city 0", "city 1"])
        let city = try #require(
            try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "City", predicate: FetchPredicate(format: "name == 'city 0'"))).first)
        #expect(try city.objectIDs(forRelationshipNamed: "people") == [ids[0], ids[2]])
        #expect(!ids.contains(city.objectID))
        #expect(try PostgresServer.sql("SELECT count(DISTINCT \"home\") FROM \"\(schema)\".\"Person\"") == "2")
        try container.close()
    }

    private struct Refused: Error {}

    @Test("MIG-9: code that fails leaves the tables as they were, and so does a plan without the version of the store")
    func failureChangesNothing() throws {
        let (schema, ids) = try filledSchema()
        let failing = try MigrationPlan([
            .custom(from: Self.first(), to: Self.withCities()) { migration in
                try migration.forEach("Person") { (_: ManagedObject, new: ManagedObject) in try new.setValue("changed", forKey: "name") }
                throw Refused()
            }
        ])
        let error = hornbeamError { _ = try open(schema, failing) }
        #expect(error?.details.first?.code ?? error?.code == .migrationFailed, "\(String(describing: error))")
        let third = try ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
            }
        }
        let unknown = try MigrationPlan([.lightweight(from: Self.withCities(), to: third)])
        let missing = hornbeamError { _ = try open(schema, unknown) }
        #expect(missing?.details.first?.code ?? missing?.code == .modelReferenceNotFound, "\(String(describing: missing))")
        let container = try PostgresServer.container(schema, Self.first())
        #expect(try values(container, "Person", "name") == ["Ann", "Bob", "Cem"])
        #expect(try container.newContext().existingObject(with: ids[0]).objectIDs(forRelationshipNamed: "friends") == [ids[1]])
        try container.close()
    }

    @Test("MIG-2: a to-one becomes a to-many without a plan, and consumers of history read anew")
    func storedFormsChange() throws {
        let schema = PostgresServer.freshSchema()
        func model(_ isMany: Bool) throws -> ManagedObjectModel {
            var person = Entity("Person") { Attribute("name", .string) }
            person.relationships = isMany ? Entity("Person") { ToMany("car", to: "Car") }.relationships : Entity("Person") { ToOne("car", to: "Car") }.relationships
            return try ManagedObjectModel {
                person
                Entity("Car") {
                    Attribute("name", .string)
                }
            }
        }
        var container = try PostgresServer.container(schema, model(false))
        let token = try container.history.currentToken()
        let context = container.newContext()
        let (person, car) = (try context.insert(entityNamed: "Person"), try context.insert(entityNamed: "Car"))
        for object in [person, car] { try object.setValue("x", forKey: "name") }
        try person.setValue(.objectID(car.objectID), forKey: "car")
        try context.save()
        try container.close()
        container = try PostgresServer.container(.postgres(PostgresServer.connection ?? "", schema: schema, migrates: true), model(true))
        #expect(try container.newContext().existingObject(with: person.objectID).objectIDs(forRelationshipNamed: "car") == [car.objectID])
        guard case .resync(.expired, _) = try container.history.fetch(after: token) else { return #expect(Bool(false), "The history has old names.") }
        try container.close()
    }

    // MARK: Indexes

    private static func indexed(_ indexes: [FetchIndexDescription]) throws -> ManagedObjectModel {
        var book = Entity("Book") {
            Attribute("title", .string)
            Attribute("pages", .integer32, optional: true)
            Attribute("kind", .string, optional: true)
        }
        book.fetchIndexes = indexes
        return try ManagedObjectModel { book }
    }

    private func indexes(_ schema: String) throws -> [String] {
        try PostgresServer.sql(
            """
            SELECT indexname || ': ' || replace(substring(indexdef FROM 'USING .*'), '\(schema)', 'S') FROM pg_indexes \
            WHERE schemaname = '\(schema)' AND indexname LIKE 'Book.%' ORDER BY 1
            """).split(separator: "\n").map(String.init)
    }

    @Test("MOD-9: fetch indexes of the model are indexes on the server, and follow the model")
    func indexesFollowTheModel() throws {
        let schema = PostgresServer.freshSchema()
        let first = try Self.indexed([
            FetchIndexDescription("byTitle", [.folded("title"), .descending("pages")]),
            FetchIndexDescription("long", ["title"], where: "pages > 500 AND kind == \"it's \\\\ $1::text\""),
            FetchIndexDescription("computed", [.expression("pages * 2")]),
        ])
        try PostgresServer.container(schema, first).close()
        #expect(
            try indexes(schema) == [
                #"Book.byTitle.index: USING btree ("S"._hornbeam_fold1_cd(title) NULLS FIRST, pages DESC NULLS LAST)"#,
                #"Book.long.index: USING btree (title NULLS FIRST) WHERE ((pages > '500'::bigint) AND (kind = 'it''s \ $1::text'::text))"#,
            ])
        let second = try Self.indexed([FetchIndexDescription("byTitle", ["title"]), FetchIndexDescription("more", ["pages"])])
        try PostgresServer.container(schema, second).close()
        #expect(try indexes(schema).map { $0.prefix { $0 != ":" } } == ["Book.byTitle.index", "Book.long.index", "Book.more.index"])
        #expect(try indexes(schema)[0] == "Book.byTitle.index: USING btree (title NULLS FIRST)")
        try PostgresServer.container(.postgres(PostgresServer.connection ?? "", schema: schema, migrates: true), second).close()
        #expect(try indexes(schema).map { $0.prefix { $0 != ":" } } == ["Book.byTitle.index", "Book.more.index"])
    }

    @Test("a fetch of many rows uses the index of the server for its folded condition and its order")
    func indexesAreUsed() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema, Self.indexed([FetchIndexDescription("byTitle", [.folded("title")]), .init("plain", ["title"])]))
        let rows = (0 ..< 5_000).map { ["title": PropertyValue.string("Title \($0)")] }
        try container.newContext().execute(BatchInsertRequest(entityName: "Book", objects: rows))
        try PostgresServer.sql("ANALYZE \"\(schema)\".\"Book\"")
        var request = FetchRequest<ManagedObject>(entityName: "Book", predicate: try FetchPredicate(format: "title ==[cd] 'TÍTLE 77'"))
        #expect(try container.newContext().explain(request).contains("Book.byTitle.index"))
        #expect(try container.newContext().fetch(request).count == 1)
        request = FetchRequest<ManagedObject>(entityName: "Book", predicate: try FetchPredicate(format: "title > 'Title 9990'"), sortedBy: [FetchSort("title")])
        #expect(try container.newContext().explain(request).contains("Book.plain.index"))
        try container.close()
    }
}
#endif
