#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Saves whose statements are sent while the server executes the first of them.
@Suite(.enabled(if: PostgresServer.isThere)) struct SaveInPartsTests {
    @Test("a value without a stored form ends a save whose first statements were sent, and nothing is written")
    func refusedValues() throws {
        let model = try ManagedObjectModel {
            CompositeDescription("Period") { Attribute<Date?>("start") }
            Entity(
                "Event",
                attributes: [AttributeDescription("name", .string), AttributeDescription("period", .composite, optional: true, composite: "Period")],
                relationships: [])
        }
        let schema = PostgresServer.freshSchema()
        let store = PostgresStore(PostgresServer.connection ?? "", schema: schema, connectionsMax: 2)
        try store.open(model)
        let name = String(repeating: "n", count: 100)
        var changes = CustomStoreChanges()
        changes.inserted = (1 ... 600 as ClosedRange<UInt64>).map { CustomStoreRow(CustomStoreKey("Event", $0), values: ["name": .string(name)]) }
        // JSON has no infinite numbers.
        changes.inserted[550].values["period"] = .dictionary(["start": .date(Date(timeIntervalSinceReferenceDate: .infinity))])
        #expect(throws: EncodingError.self) { try store.save(changes) }
        let counts = "SELECT (SELECT count(*) FROM \"\(schema)\".\"Event\"), (SELECT count(*) FROM \"\(schema)\"._hornbeam_saves)"
        #expect(try PostgresServer.sql(counts) == "0|0")
        changes.inserted[550].values["period"] = nil
        try store.save(changes)
        #expect(try PostgresServer.sql(counts) == "600|1")
        try store.close()
    }

    @Test("a unique value that is taken in the last statement of a save is a conflict, and nothing is written")
    func conflicts() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let new = try (0 ..< 700).map { try context.make("Author", ["name": .string("author \($0)")]) }
        // Without an announcement, so that the context learns it from the save.
        try PostgresServer.sql("INSERT INTO \"\(schema)\".\"Author\" (_id, _entity, _version, name) VALUES (100000, 'Author', 1, 'author 699')")
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Author\"") == "1")
        try new[699].setValue("author 700", forKey: "name")
        try context.save()
        #expect(try PostgresServer.sql("SELECT count(*), count(DISTINCT name) FROM \"\(schema)\".\"Author\"") == "701|701")
        try container.close()
    }
}
#endif
