import HornbeamModel
import Testing

/// The new objects of a save, as rows and in the compact form.
@Suite struct InsertedRowsTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string, optional: true)
                Attribute("born", .integer32, optional: true)
            }
            Entity("Book") {
                Attribute("title", .string)
                ToOne("author", to: "Author")
            }
        }
    }

    private static let rows = [
        CustomStoreRow(CustomStoreKey("Author", 3), values: ["name": "a", "born": 1]), CustomStoreRow(CustomStoreKey("Author", 1), values: ["name": "b"]),
        CustomStoreRow(CustomStoreKey("Book", 2), values: ["title": "c"], destinations: ["author": CustomStoreKey("Author", 3)]),
        CustomStoreRow(CustomStoreKey("Book", 4), values: ["title": "d"]),
    ]

    @Test("rows are equal to those of their tables, which are grouped by entity")
    func tables() throws {
        let model = try Self.model()
        let mixed = InsertedRows.rows([Self.rows[0], Self.rows[2], Self.rows[1], Self.rows[3]])
        let tables = try mixed.tables(in: model)
        #expect(tables.map(\.entity.name) == ["Author", "Book"] && tables.map(\.keys) == [[3, 1], [2, 4]])
        #expect(tables[0].sortedByKey.keys == [1, 3] && tables[0].sortedByKey.row(0, in: model).values == ["name": "b"])
        #expect(tables[1].hasDestination(0))
        #expect(InsertedRows.tables(tables).rows == Self.rows)
        #expect(InsertedRows.tables(tables) == .rows(Self.rows))
        #expect(throws: HornbeamError.self) { _ = try InsertedRows.rows([CustomStoreRow(CustomStoreKey("Song", 1))]).tables(in: model) }
    }

    @Test("rows are added to changes in both forms")
    func changes() throws {
        var changes = CustomStoreChanges()
        for row in Self.rows.dropLast() { changes.inserted.append(row) }
        #expect(changes.inserted == Self.rows.dropLast())
        changes.insertedRows = .tables(try changes.insertedRows.tables(in: Self.model()))
        changes.inserted.append(Self.rows[3])
        #expect(changes.inserted == Self.rows)
        changes.inserted = []
        #expect(changes == CustomStoreChanges())
    }

    @Test("a new object has its values by the indexes of its properties")
    func values() throws {
        let model = try Self.model()
        let book = try model.entity(named: "Book")
        var tables = CustomStoreTables(rowCount: 2)
        let author = try model.entity(named: "Author")
        let identity = ManagedObjectID.StoreIdentity(entityName: "Author", storeIdentifier: nil, entityNumber: 0)
        for (key, id) in [(7, ManagedObjectID(origin: identity, reference: 3)), (8, nil)] as [(UInt64, ManagedObjectID?)] {
            var values: [PropertyValue] = [.null, .null]
            values[try book.property(named: "title").index] = "t"
            values[try book.property(named: "author").index] = id.map { .objectID($0) } ?? .null
            tables.append(book, key: key, values: values) { $0 === identity ? author : nil }
        }
        #expect(
            InsertedRows.tables(tables.tables).rows == [
                CustomStoreRow(CustomStoreKey("Book", 7), values: ["title": "t"], destinations: ["author": CustomStoreKey("Author", 3)]),
                CustomStoreRow(CustomStoreKey("Book", 8), values: ["title": "t"]),
            ])
    }
}
