#if Postgres
import Foundation
import HornbeamModel
import Testing

@testable import HornbeamPostgres

/// The values of saves, in parts of a limited size.
@Suite struct RowCellsTests {
    private static func table() throws -> TableLayout {
        let model = try ManagedObjectModel {
            Entity("Picture") {
                Attribute("name", .string, optional: true)
                Attribute("bytes", .binary, optional: true)
            }
        }
        return try StoreLayout(model, schema: "s").table(of: "Picture")
    }

    private static func rows(_ sizes: [Int]) -> [CustomStoreRow] {
        sizes.enumerated().map { number, size in
            CustomStoreRow(CustomStoreKey("Picture", UInt64(number + 1)), values: ["name": .string("p"), "bytes": .data(Data(count: size))])
        }
    }

    @Test(
        "rows whose values are larger than a statement are in several, each row in one of them and in the same order",
        arguments: [
            ([], [[]]), ([1], [[1]]), ([1, 1, 1], [[1, 2, 3]]), ([100], [[1]]), ([100, 100], [[1], [2]]), ([20, 20, 20, 20], [[1, 2, 3], [4]]),
            ([1, 100, 1, 1], [[1, 2], [3, 4]]), ([100, 1], [[1], [2]]),
        ] as [([Int], [[UInt64]])])
    func parts(sizes: [Int], keys: [[UInt64]]) throws {
        // A byte has two digits; each row has some more bytes for the name, commas and quotation marks.
        let parts = try RowCells.parts(of: Self.rows(sizes), in: Self.table(), bytesMax: 120)
        #expect(parts.map { $0.rows.map(\.object.key) } == keys.filter { !$0.isEmpty })
        for part in parts {
            var parameters = ParameterList()
            _ = part.cells.arrays(&parameters)
            #expect(part.cells.names == ["\"bytes\"", "\"name\""])
            #expect(parameters.values[1] == "{" + part.rows.map { _ in "\"p\"" }.joined(separator: ",") + "}")
        }
    }

    @Test("columns without a value in some rows of a part are null there, and columns without one in all rows of a part are left out")
    func missingValues() throws {
        var rows = Self.rows([100, 1, 1])
        rows[0].values["name"] = nil
        rows[1].values["name"] = nil
        let parts = try RowCells.parts(of: rows, in: Self.table(), bytesMax: 120)
        #expect(parts.map(\.cells.names) == [["\"bytes\""], ["\"bytes\"", "\"name\""]])
        var parameters = ParameterList()
        _ = parts[1].cells.arrays(&parameters)
        #expect(parameters.values == ["{\"\\\\x00\",\"\\\\x00\"}", "{NULL,\"p\"}"])
    }
}
#endif
