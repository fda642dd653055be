#if Postgres
import Foundation
import Hornbeam
@testable import HornbeamPostgres
import Testing

/// Shard keys. Partitions by hash of the shard key stand for the shards of a cluster: a plan that reads one partition reads one shard.
@Suite(.enabled(if: PostgresServer.isThere)) struct ShardTests {
    private static func model(shard: Bool = true) throws -> ManagedObjectModel {
        let key = shard ? ["postgres.shard": "tenant"] : [:]
        return try ManagedObjectModel {
            Entity("Author", userInfo: key) {
                Attribute("tenant", .string)
                Attribute("name", .string)
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
                Unique("tenant", "name")
            }
            Entity("Book", userInfo: key) {
                Attribute("tenant", .string)
                Attribute("title", .string)
                Attribute("pages", .integer32, default: 1)
                ToOne("author", to: "Author", inverse: "books")
                ToOne("genre", to: "Genre")
                ToMany("tags", to: "Tag", inverse: "books")
            }
            Entity("Tag", userInfo: key) {
                Attribute("tenant", .string)
                Attribute("label", .string)
                ToMany("books", to: "Book", inverse: "tags")
            }
            Entity("Genre") {
                Attribute("label", .string, unique: true)
            }
        }
    }

    /// A schema whose sharded tables have eight partitions.
    private func partitionedSchema() throws -> String {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema, Self.model()).close()
        for (table, column) in [("Author", "tenant"), ("Book", "tenant"), ("Tag", "tenant"), ("Book.tags", "shard")] {
            let parts = (0 ..< 8).map { "CREATE TABLE \"\(table) \($0)\" PARTITION OF \"\(table)\" FOR VALUES WITH (MODULUS 8, REMAINDER \($0));" }
            try PostgresServer.sql(
                """
                SET search_path TO "\(schema)"; ALTER TABLE "\(table)" RENAME TO former;
                CREATE TABLE "\(table)" (LIKE former INCLUDING ALL) PARTITION BY HASH ("\(column)"); \(parts.joined()) DROP TABLE former;
                """)
        }
        return schema
    }

    private func make(_ context: ManagedObjectContext, _ entity: String, _ values: [String: PropertyValue]) throws -> ManagedObject {
        let object = try context.insert(entityNamed: entity)
        for (key, value) in values { try object.setValue(value, forKey: key) }
        return object
    }

    /// For each tenant an author with two books, which have a tag.
    private func fill(_ container: PersistentContainer, tenants: Int) throws {
        let context = container.newContext()
        let genre = try make(context, "Genre", ["label": "poems"])
        for tenant in 0 ..< tenants {
            let tenant = PropertyValue.string("tenant \(tenant)")
            let author = try make(context, "Author", ["tenant": tenant, "name": "Ann"])
            let tag = try make(context, "Tag", ["tenant": tenant, "label": "new"])
            for title in ["First", "Second"] {
                _ = try make(
                    context, "Book",
                    [
                        "tenant": tenant, "title": .string(title), "author": .objectID(author.objectID), "genre": .objectID(genre.objectID),
                        "tags": .set([.objectID(tag.objectID)]),
                    ])
            }
        }
        try context.save()
    }

    /// The partitions that a plan reads.
    private func partitions(_ plan: String) -> Set<String> {
        Set(plan.matches(of: /"((?:Author|Book|Tag|Book\.tags) \d)"/).map { String($0.1) })
    }

    @Test("the shard key is in primary keys and join tables, and the statements for Citus distribute all tables together")
    func layoutHasTheKey() throws {
        let layout = try StoreLayout(Self.model(), schema: "shop")
        let creation = layout.tableCreation.joined(separator: "\n")
        #expect(creation.contains(#""pages" integer, "author" bigint, "genre" bigint, PRIMARY KEY ("tenant", _id))"#), "\(creation)")
        #expect(creation.contains(#"("shard" text COLLATE "C" NOT NULL, source bigint NOT NULL, target bigint NOT NULL"#))
        #expect(creation.contains(#"CREATE INDEX ON "shop"."Book" ("tenant", "author")"#))
        #expect(creation.contains(#"ADD UNIQUE ("tenant", "name")"#))
        #expect(
            layout.distribution == [
                #"SELECT create_distributed_table(E'"shop"."Author"', E'tenant')"#,
                #"SELECT create_distributed_table(E'"shop"."Book"', E'tenant', colocate_with => E'"shop"."Author"')"#,
                #"SELECT create_distributed_table(E'"shop"."Tag"', E'tenant', colocate_with => E'"shop"."Author"')"#,
                #"SELECT create_reference_table(E'"shop"."Genre"')"#,
                #"SELECT create_distributed_table(E'"shop"."Book.tags"', E'shard', colocate_with => E'"shop"."Author"')"#,
            ])
        #expect(try PostgresStore.distributionStatements(for: Self.model(), schema: "shop") == layout.distribution)
    }

    @Test("saves, reads, changes and deletes work in partitioned tables as in others")
    func partitionedTablesWork() throws {
        let schema = try partitionedSchema()
        var container = try PostgresServer.container(schema, Self.model())
        try fill(container, tenants: 20)
        try container.close()
        container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let books = try context.fetch(
            FetchRequest<ManagedObject>(
                entityName: "Book", predicate: FetchPredicate(format: "tenant == 'tenant 7' AND ANY tags.label == 'new' AND genre.label == 'poems'"),
                sortedBy: [FetchSort("title")]))
        #expect(try books.map { try $0.value(forKey: "title") } == ["First", "Second"])
        let author = try #require(try books[0].object(forKey: "author"))
        #expect(Set(try author.objectIDs(forRelationshipNamed: "books")) == Set(books.map(\.objectID)))
        try books[0].setValue("Changed", forKey: "title")
        try books[1].setValue(.set([]), forKey: "tags")
        try context.save()
        let others = container.newContext()
        #expect(try others.count(FetchRequest<ManagedObject>(entityName: "Book", predicate: FetchPredicate(format: "ANY tags.label == 'new'"))) == 39)
        var update = BatchUpdateRequest(entityName: "Book", predicate: try FetchPredicate(format: "author.name == 'Ann' AND tenant == 'tenant 3'"))
        update.set("pages", to: 9)
        try others.execute(update)
        #expect(try others.count(FetchRequest<ManagedObject>(entityName: "Book", predicate: FetchPredicate(format: "pages == 9"))) == 2)
        context.delete(author)
        try context.save()
        #expect(try others.count(FetchRequest<ManagedObject>(entityName: "Book")) == 38)
        let twin = try make(others, "Author", ["tenant": "tenant 4", "name": "Ann"])
        #expect(hornbeamError { try others.save() }?.code == .constraintConflict)
        try twin.setValue("tenant 7", forKey: "tenant")
        try others.save()
        #expect(
            try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Book.tags\" j LEFT JOIN \"\(schema)\".\"Book\" b ON b._id = j.source AND b.tenant = j.shard WHERE b._id IS NULL")
                == "0")
        try container.close()
    }

    @Test("a condition on the shard key reaches the plan: one partition of each table is read")
    func plansReadOneShard() throws {
        let container = try PostgresServer.container(partitionedSchema(), Self.model())
        try fill(container, tenants: 3)
        let context = container.newContext()
        func plan(_ format: String, of entity: String = "Book") throws -> Set<String> {
            partitions(try context.explain(FetchRequest<ManagedObject>(entityName: entity, predicate: FetchPredicate(format: format))))
        }
        let one = try plan("tenant == 'tenant 1' AND title == 'First'")
        #expect(one.count(where: { $0.hasPrefix("Book ") }) == 1, "\(one)")
        let joined = try plan("tenant == 'tenant 1' AND author.name == 'Ann'")
        #expect(joined.count(where: { $0.hasPrefix("Book ") }) == 1 && joined.count(where: { $0.hasPrefix("Author ") }) == 1, "\(joined)")
        // Rows of tags have no members, whose subselect chooses its partitions when it is executed.
        let members = try plan("tenant == 'tenant 1' AND ANY books.title == 'First'", of: "Tag")
        for table in ["Book ", "Tag ", "Book.tags "] { #expect(members.count(where: { $0.hasPrefix(table) }) == 1, "\(members)") }
        #expect(try plan("title == 'First'").count == 24, "Without the key, and with the members of each row, all partitions are read.")
    }

    @Test("the statements of a save name the shard key")
    func savesNameTheKey() throws {
        let layout = try StoreLayout(Self.model(), schema: "shop")
        for key in 1 ... 3 as ClosedRange<UInt64> { layout.shards.remember("acme", of: CustomStoreKey("Book", key)) }
        layout.shards.remember("acme", of: CustomStoreKey("Tag", 9))
        var changes = CustomStoreChanges()
        changes.updated = [CustomStoreRow(CustomStoreKey("Book", 1), values: ["title": "x"])]
        changes.deleted = [CustomStoreKey("Book", 2)]
        changes.versions = [CustomStoreKey("Book", 1): 1, CustomStoreKey("Book", 2): 1]
        changes.members = [.init(owner: CustomStoreKey("Book", 1), relationship: "tags", removed: [CustomStoreKey("Tag", 9)])]
        let statements = try SaveStatements(changes, layout)
        var writes: [Statement] = []
        try statements.forEachWrite { writes.append($0) }
        for statement in statements.locks.map(\.statement) + writes {
            #expect(statement.sql.contains("\"tenant\" = $") || statement.sql.contains("\"shard\" = $"), "\(statement.sql)")
            #expect(statement.parameters.contains("acme"))
        }
        #expect(statements.locks.count >= 2 && writes.count >= 3)
    }

    @Test("related objects with different shard keys, and changed shard keys, are refused, and nothing is written")
    func shardsAreKept() throws {
        let container = try PostgresServer.container(partitionedSchema(), Self.model())
        try fill(container, tenants: 2)
        func fresh() throws -> (ManagedObjectContext, ManagedObject, ManagedObject) {
            let context = container.newContext()
            let request = FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("tenant")])
            let authors = try context.fetch(request)
            return (context, authors[0], authors[1])
        }
        let (a, first, _) = try fresh()
        _ = try make(a, "Book", ["tenant": "tenant 1", "title": "x", "author": .objectID(first.objectID)])
        let mixed = hornbeamError { try a.save() }
        #expect(mixed?.code == .relationshipAcrossStores)
        #expect(mixed?.message.hasPrefix("Book.author refers to an object with another shard key. Related objects have the same value of tenant.") == true)
        let (b, moved, _) = try fresh()
        try moved.setValue("tenant 5", forKey: "tenant")
        #expect(hornbeamError { try b.save() }?.code == .unsupportedRequest)
        let (c, _, second) = try fresh()
        let book = try #require(try first.objects(forKey: "books").first)
        try c.existingObject(with: book.objectID).setValue(.objectID(second.objectID), forKey: "author")
        #expect(hornbeamError { try c.save() }?.code == .relationshipAcrossStores)
        #expect(try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Book")) == 4)
        try container.close()
    }

    /// Such keys were one part of a save, which named one of them for all rows.
    @Test("canonically equivalent shard keys with different bytes are different keys, and so are an unknown key and an empty text")
    func shardKeysAreBytes() throws {
        let tenants = ["", "e\u{301}", "\u{E9}"]
        let layout = try StoreLayout(Self.model(), schema: "shop")
        for (place, tenant) in tenants.enumerated() { layout.shards.remember(tenant, of: CustomStoreKey("Book", UInt64(place + 1))) }
        let groups = try layout.groups([4, 3, 2, 1].map { CustomStoreKey("Book", $0) })
        #expect(groups.map { $0.keys } == [[4], [1], [2], [3]])
        #expect(groups.map { $0.shard.map { Array($0.utf8) } } == [nil] + tenants.map { Array($0.utf8) })
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let books = try tenants.map { try make(context, "Book", ["tenant": .string($0), "title": "old"]) }
        try context.save()
        for book in books { try book.setValue("new", forKey: "title") }
        try context.save()
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Book\" WHERE title = 'new' AND _version = 2") == "3")
        let author = try make(context, "Author", ["tenant": .string(tenants[1]), "name": "Ann"])
        try books[2].setValue(.objectID(author.objectID), forKey: "author")
        #expect(hornbeamError { try context.save() }?.code == .relationshipAcrossStores)
        context.rollback()
        try books[2].setValue(.string(tenants[1]), forKey: "tenant")
        #expect(hornbeamError { try context.save() }?.code == .unsupportedRequest)
        try container.close()
    }

    @Test("models whose shard keys cannot be kept are refused")
    func modelsAreChecked() throws {
        func refusal(_ entities: [Entity]) throws -> String {
            let model = try ManagedObjectModel(entities: entities)
            return hornbeamError { _ = try StoreLayout(model, schema: "shop") }?.message ?? ""
        }
        let key = ["postgres.shard": "tenant"]
        let unique = Entity("Author", userInfo: key) {
            Attribute("tenant", .string)
            Attribute("name", .string, unique: true)
        }
        #expect(try refusal([unique]).hasPrefix("The unique value Author.name does not contain the shard key tenant."))
        let optional = Entity("Author", userInfo: key) { Attribute("tenant", .string, optional: true) }
        #expect(try refusal([optional]).hasPrefix("The shard key Author.tenant is no stored attribute"))
        let other = Entity("Desk") { ToOne("owner", to: "Author") }
        let author = Entity("Author", userInfo: key) { Attribute("tenant", .string) }
        #expect(try refusal([author, other]).hasPrefix("Desk.owner relates objects with a shard key and objects without one."))
        let number = Entity("Shelf", userInfo: ["postgres.shard": "site"]) { Attribute("site", .integer64) }
        #expect(try refusal([author, number]) == "The shard keys of a store have one type. These have the types bigint, text.")
        let schema = PostgresServer.freshSchema()
        try PostgresServer.container(schema, Self.model(shard: false)).close()
        let changed = hornbeamError { _ = try PostgresServer.container(schema, Self.model()) }
        #expect((changed?.details.first ?? changed)?.code == .modelMismatch)
    }
}
#endif
