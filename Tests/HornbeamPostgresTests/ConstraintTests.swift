#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Constraints of existing tables that the model does not have.
@Suite(.enabled(if: PostgresServer.isThere)) struct ConstraintTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Item", userInfo: ["postgres.table": "items"]) {
                Attribute("code", .string, optional: true)
                Attribute("price", .decimal, optional: true)
                Attribute("made", .date, optional: true).adding(userInfo: ["postgres.type": "timestamptz"])
            }
            Entity("Note", userInfo: ["postgres.table": "notes"]) {
                Attribute("text", .string, optional: true)
                ToOne("item", to: "Item").adding(userInfo: ["postgres.column": "item_id"])
            }
        }
    }

    private static let tables = """
        CREATE TABLE items (id bigserial PRIMARY KEY, code text, price numeric CONSTRAINT "no debts" CHECK (price >= 0), made timestamptz,
            _version bigint NOT NULL DEFAULT 1);
        CREATE TABLE notes (id bigserial PRIMARY KEY, text text, item_id bigint REFERENCES items, _version bigint NOT NULL DEFAULT 1);
        CREATE TABLE others (item bigint CONSTRAINT "others' item" REFERENCES items);
        INSERT INTO items (code, price) VALUES ('a', 1), ('b', 2), ('c', 3);
        INSERT INTO notes (text, item_id) VALUES ('of a', 1);
        INSERT INTO others VALUES (2);
        """

    private func opened() throws -> (schema: String, container: PersistentContainer, context: ManagedObjectContext) {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.sql("CREATE SCHEMA \"\(schema)\"; SET search_path TO \"\(schema)\"; \(Self.tables)")
        let container = try PostgresServer.container(schema, Self.model())
        return (schema, container, container.newContext())
    }

    @Test("an error of a column that requires a value names the objects without one, and the attribute")
    func missingValues() throws {
        let (schema, container, context) = try opened()
        try PostgresServer.sql("UPDATE \"\(schema)\".items SET made = now(); ALTER TABLE \"\(schema)\".items ALTER COLUMN made SET NOT NULL")
        let bad = try context.make("Item", ["code": "new"])
        try context.make("Item", ["code": "right", "made": .date(Date(timeIntervalSinceReferenceDate: 0))])
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .missingRequiredValue && error?.entity == "Item" && error?.key == "made", "\(error?.message ?? "")")
        #expect(error?.objectIDs == [bad.objectID] && bad.objectID.isTemporaryID)
        try bad.setValue(.date(Date(timeIntervalSinceReferenceDate: 1)), forKey: "made")
        try context.save()
        try bad.setValue(.null, forKey: "made")
        #expect(hornbeamError { try context.save() }?.objectIDs == [bad.objectID])
        try container.close()
    }

    @Test("an error of a condition names the objects whose values violate it, and the attribute")
    func failedConditions() throws {
        let (_, container, context) = try opened()
        let old = try #require(context.all("Item", by: "code", "code == 'c'").first)
        let bad = try context.make("Item", ["code": "new", "price": .decimal(-0.5)])
        try context.make("Item", ["code": "right", "price": .decimal(0.5), "made": .date(Date(timeIntervalSinceReferenceDate: 0))])
        var error = hornbeamError { try context.save() }
        #expect(error?.code == .validation && error?.entity == "Item" && error?.key == "price", "\(error?.message ?? "")")
        #expect(error?.message.contains("no debts") == true)
        #expect(error?.objectIDs == [bad.objectID] && bad.objectID.isTemporaryID)
        try bad.setValue(.decimal(1), forKey: "price")
        try old.setValue("other", forKey: "code")
        try context.save()
        try old.setValue(.decimal(-1), forKey: "price")
        try bad.setValue("changed", forKey: "code")
        error = hornbeamError { try context.save() }
        #expect(error?.code == .validation && error?.objectIDs == [old.objectID])
        var update = BatchUpdateRequest(entityName: "Item", predicate: try FetchPredicate(format: "code == 'a'"))
        update.set("price", to: .decimal(-1))
        error = hornbeamError { _ = try container.newContext().execute(update) }
        #expect(error?.code == .validation && error?.key == "price" && error?.objectIDs.count == 1, "\(error?.message ?? "")")
        try container.close()
    }

    @Test("a reference to an object that another program has deleted is objectNotFound, as for objects with an inverse")
    func missingDestinations() throws {
        let (schema, container, context) = try opened()
        let gone = try #require(context.all("Item", by: "code", "code == 'c'").first)
        // The note has the key of another item.
        try context.make("Note", ["item": .objectID(gone.objectID)])
        try PostgresServer.sql("DELETE FROM \"\(schema)\".items WHERE code = 'c'")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .objectNotFound && error?.entity == "Item" && error?.objectIDs == [gone.objectID], "\(error?.message ?? "")")
        try container.close()
    }

    @Test("a deletion that a foreign key forbids is deleteDenied with the object", arguments: [("a", "notes"), ("b", "others")])
    func protectedObjects(code: String, table: String) throws {
        let (schema, container, context) = try opened()
        let items = try context.all("Item", by: "code")
        let found = try items.first { try $0.value(forKey: "code") == .string(code) }
        let held = try #require(found)
        for item in items where item === held || item === items[2] { context.delete(item) }
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .deleteDenied && error?.entity == "Item" && error?.objectIDs == [held.objectID], "\(error?.message ?? "")")
        #expect(error?.message.contains(table) == true)
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".items") == "3")
        try container.close()
    }

    @Test("a value that an index of the database requires to be unique is a constraint conflict with the object and the attribute")
    func takenValues() throws {
        let (schema, container, context) = try opened()
        try PostgresServer.sql("CREATE UNIQUE INDEX codes ON \"\(schema)\".items (code)")
        let twin = try context.make("Item", ["code": "a"])
        try context.make("Item", ["code": "d"])
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict && error?.key == "code" && error?.objectIDs == [twin.objectID], "\(error?.message ?? "")")
        try twin.setValue("e", forKey: "code")
        try context.save()
        try container.close()
    }

    /// The error named no objects.
    @Test("values that are repeated in one save, under an index that the model does not have, are a conflict that names their objects")
    func repeatedValues() throws {
        let (schema, container, context) = try opened()
        try PostgresServer.sql("CREATE UNIQUE INDEX codes ON \"\(schema)\".items (code)")
        let old = try #require(context.all("Item", by: "code", "code == 'b'").first)
        // They have values in different columns, so that different statements write them.
        let first = try context.make("Item", ["code": "twin", "price": .decimal(1)])
        let second = try context.make("Item", ["code": "twin"])
        try context.make("Item", ["code": "other"])
        try context.make("Item", ["price": .decimal(2)])
        try old.setValue("twin", forKey: "code")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict && error?.key == "code", "\(error?.message ?? "")")
        #expect(Set(error?.objectIDs ?? []) == [old.objectID, first.objectID, second.objectID])
        #expect(try PostgresServer.sql("SELECT string_agg(code, ' ' ORDER BY id) FROM \"\(schema)\".items") == "a b c")
        try first.setValue("first", forKey: "code")
        try second.setValue("second", forKey: "code")
        try context.save()
        try container.close()
    }

    @Test("repeated combinations of an index over several columns are a conflict that names their objects, and missing values are none")
    func repeatedCombinations() throws {
        let (schema, container, context) = try opened()
        try PostgresServer.sql("CREATE UNIQUE INDEX prices ON \"\(schema)\".items (price, code)")
        let twins = try (0 ..< 2).map { _ in try context.make("Item", ["code": "d", "price": .decimal(Decimal(string: "1.50") ?? 0)]) }
        for _ in 0 ..< 2 { try context.make("Item", ["code": "e"]) }
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict && Set(error?.objectIDs ?? []) == Set(twins.map(\.objectID)), "\(error?.message ?? "")")
        try container.close()
    }
}
#endif
