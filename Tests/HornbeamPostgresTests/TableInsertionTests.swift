#if Postgres
import Foundation
import HornbeamModel
import Testing

@testable import HornbeamPostgres

/// The statements that insert new rows.
@Suite struct TableInsertionTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Maker", abstract: true) { Attribute("name", .string) }
            Entity("Person", parent: "Maker") { Attribute("born", .integer32, optional: true) }
            Entity("Firm", parent: "Maker") { Attribute("size", .integer32, optional: true) }
            Entity("Item") {
                Attribute("label", .string, optional: true)
                ToOne("maker", to: "Maker")
                ToOne("owner", to: "Person")
            }
            Entity("Picture", parent: "Item") { Attribute("bytes", .binary, optional: true) }
        }
    }

    private func statements(_ rows: [CustomStoreRow], bytesMax: Int = RowCells.bytesMax) throws -> [Statement] {
        let model = try Self.model()
        let tables = try InsertedRows.rows(rows).tables(in: model)
        var insertion = TableInsertion(tables, into: try StoreLayout(model, schema: "s").table(of: "Item"), bytesMax: bytesMax)
        var statements: [Statement] = []
        while let statement = try insertion.nextStatement() { statements.append(statement) }
        return statements
    }

    @Test("rows of one entity have its name once, and to-ones without a destination are left out")
    func oneEntity() throws {
        let rows = [2, 1].map { CustomStoreRow(CustomStoreKey("Item", $0), values: ["label": .string("l\($0)")]) }
        let statement = try #require(try statements(rows).first)
        #expect(
            statement.sql == """
                INSERT INTO "s"."Item" (_id, "label", _entity, _version) SELECT u.*, E'Item', 1 FROM unnest($1::bigint[], $2::text[]) AS u(c0, c1)
                """)
        #expect(statement.parameters == ["{1,2}", #"{"l1","l2"}"#])
    }

    @Test("rows of several entities are in one statement, and have no values in the columns of other entities")
    func severalEntities() throws {
        let rows = [
            CustomStoreRow(CustomStoreKey("Item", 1), values: ["label": "a"], destinations: ["maker": CustomStoreKey("Firm", 9)]),
            CustomStoreRow(CustomStoreKey("Picture", 2), values: ["bytes": .data(Data([0, 255]))], destinations: ["owner": CustomStoreKey("Person", 8)]),
            CustomStoreRow(CustomStoreKey("Item", 3)),
        ]
        let found = try statements(rows)
        #expect(found.count == 1)
        #expect(
            found[0].sql.hasPrefix(
                #"INSERT INTO "s"."Item" (_id, _entity, "label", "maker", "maker.entity", "owner", "bytes", _version) SELECT u.*, 1 FROM"#), "\(found[0].sql)")
        #expect(
            found[0].parameters == [
                "{1,3,2}", #"{"Item","Item","Picture"}"#, #"{"a",NULL,NULL}"#, "{9,NULL,NULL}", #"{"Firm",NULL,NULL}"#, "{NULL,NULL,8}",
                #"{NULL,NULL,"\\x00ff"}"#,
            ])
    }

    @Test(
        "rows whose values are larger than a statement are in several with the same text, each row in one of them and in the order of the keys",
        arguments: [
            ([1], ["{1}"]), ([1, 1, 1], ["{1,2,3}"]), ([100], ["{1}"]), ([100, 100], ["{1}", "{2}"]), ([20, 20, 20, 20], ["{1,2,3}", "{4}"]),
            ([1, 100, 1, 1], ["{1,2}", "{3,4}"]), ([100, 1], ["{1}", "{2}"]),
        ] as [([Int], [String])])
    func parts(sizes: [Int], keys: [String]) throws {
        let rows = sizes.enumerated().map { number, size in
            CustomStoreRow(CustomStoreKey("Picture", UInt64(number + 1)), values: ["label": "p", "bytes": .data(Data(count: size))])
        }
        // A byte has two digits; each row has some more bytes for the key, the label, commas and quotation marks.
        let found = try statements(rows.reversed(), bytesMax: 140)
        #expect(found.map(\.parameters[0]) == keys)
        #expect(Set(found.map(\.sql)).count == 1)
    }

    @Test("a statement has a limited number of rows, but all rows of an existing table, which can refer to one another", arguments: [false, true])
    func rowLimit(isMapped: Bool) throws {
        let model = try ManagedObjectModel {
            Entity("Item", userInfo: isMapped ? ["postgres.table": "items"] : [:]) { Attribute("label", .string, optional: true) }
        }
        let layout = try StoreLayout(model, schema: "s")
        var changes = CustomStoreChanges()
        changes.inserted = (1 ... 501 as ClosedRange<UInt64>).map { CustomStoreRow(CustomStoreKey("Item", $0), values: ["label": "l"]) }
        var found: [Statement] = []
        try SaveStatements(changes, layout).forEachWrite { found.append($0) }
        let counts = found.map { $0.parameters[0]?.split(separator: ",").count }
        #expect(counts == (isMapped ? [501] : [250, 250, 1]))
        #expect(Set(found.map(\.sql)).count == 1)
    }

    @Test("values of all types are elements of arrays as their columns store them")
    func values() throws {
        let types: [(AttributeType, [PropertyValue], String)] = [
            (.integer64, [.int(.min), .int(.max), .null], "{-9223372036854775808,9223372036854775807,NULL}"), (.boolean, [.bool(true), .bool(false)], "{t,f}"),
            (.double, [.double(-0.0), .double(0.1), .double(1e300), .double(.nan), .double(-.infinity)], "{-0.0,0.1,1e+300,NaN,-Infinity}"),
            (.float, [.double(Double(Float(0.1)))], #"{"0.1"}"#), (.date, [.date(Date(timeIntervalSinceReferenceDate: -1.5))], "{-1.5}"),
            (.string, ["", "NULL", "a\"b\\", "{,}", "e\u{301}", "\u{0}\u{1}"], "{\"\",\"NULL\",\"a\\\"b\\\\\",\"{,}\",\"e\u{301}\",\"\u{1}\u{1}\u{1}\u{2}\"}"),
            (.decimal, [.decimal(Decimal(string: "1.50")!)], #"{"1.5"}"#), (.binary, [.data(Data())], #"{"\\x"}"#),
        ]
        for (type, values, text) in types {
            let model = try ManagedObjectModel { Entity("Sample") { Attribute("value", type, optional: true) } }
            let column = try #require(StoreLayout(model, schema: "s").table(of: "Sample").column("value", of: "Sample"))
            var array = ArrayText()
            for value in values { try array.append(value, of: column) }
            #expect(array.text == text)
            #expect(array.take() == text && array.take() == "{}")
        }
    }
}
#endif
