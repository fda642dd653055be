import Testing

@testable import HornbeamEngine

/// Inconsistent catalogues are refused with an error that names the fault.
@Suite struct CatalogueTests {
    /// The bytes of a catalogue, written without the checks of the encoder.
    struct Draft {
        var transaction: UInt64 = 7
        var nextObjectKey: UInt64 = 1
        var nextTree: UInt32 = 4
        var trees: [[UInt8]] = [Draft.tree(1), Draft.tree(2, name: Array("rows".utf8), layouts: [Draft.layout(1)])]
        var end: [UInt8] = []

        static func tree(_ id: UInt32, name: [UInt8] = [], count: UInt64 = 0, layouts: [[UInt8]] = []) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.appendInteger(id)
            bytes.appendInteger(UInt16(name.count))
            bytes += name
            bytes.appendReference(PageReference(address: 0, stamp: 0, count: count))
            bytes.appendInteger(UInt16(layouts.count))
            return bytes + layouts.joined()
        }

        static func layout(
            _ version: UInt32, columns: [(id: UInt32, kind: UInt8)] = [(1, ColumnKind.fixed4.rawValue)], fill: [UInt8]? = nil
        ) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.appendInteger(version)
            bytes.appendInteger(UInt16(columns.count))
            for column in columns {
                bytes.appendInteger(column.id)
                bytes.append(column.kind)
                bytes.append(fill == nil ? 0 : 1)
                bytes.appendInteger(UInt32(fill?.count ?? 0))
                bytes += fill ?? []
            }
            return bytes
        }

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            bytes.appendInteger(transaction)
            bytes.appendInteger(nextObjectKey)
            bytes.appendInteger(nextTree)
            bytes.appendInteger(UInt32(trees.count))
            return bytes + trees.joined() + end
        }

        func with(_ change: (inout Draft) -> Void) -> Draft {
            var copy = self
            change(&copy)
            return copy
        }
    }

    @Test func aCatalogueIsReadBack() throws {
        let version = try Catalogue.decode(Draft().bytes, pageSize: 1024)
        #expect(version.number == TransactionNumber(7))
        #expect(version.trees.map(\.name) == ["", "rows"])
        #expect(Catalogue.encode(version, roots: version.trees.map(\.root)) == Draft().bytes)
    }

    static let contradictions: [(draft: Draft, message: String)] = [
        (Draft().with { $0.transaction = 1 << 62 }, "The catalogue's number of transactions, objects or trees is out of range."),
        (Draft().with { $0.nextObjectKey = .max }, "The catalogue's number of transactions, objects or trees is out of range."),
        (Draft().with { $0.nextTree = .max }, "The catalogue's number of transactions, objects or trees is out of range."),
        (Draft().with { $0.trees[1] = Draft.tree(1) }, "The catalogue lists tree t1 out of order."),
        (Draft().with { $0.end = [0] }, "The catalogue has bytes after its trees, or lacks the tree of named values."),
        (Draft().with { $0.trees = [Draft.tree(2)] }, "The catalogue has bytes after its trees, or lacks the tree of named values."),
        (Draft().with { $0.trees[0] = Draft.tree(1, count: 1 << 50) }, "The root of tree t1 names no page."),
        (
            Draft().with { $0.trees[1] = Draft.tree(2, layouts: [Draft.layout(2), Draft.layout(2)]) },
            "The layouts of tree t2 are out of order."
        ),
        (
            Draft().with { $0.trees[1] = Draft.tree(2, layouts: [Draft.layout(1, columns: [(1, 99)])]) },
            "A layout names the column kind 99, which does not exist."
        ),
        (
            Draft().with { $0.trees[1] = Draft.tree(2, layouts: [Draft.layout(1, columns: [(1, 1), (1, 1)])]) },
            "A layout is impossible: two columns have the same identifier."
        ),
        (
            Draft().with { $0.trees[1] = Draft.tree(2, layouts: [Draft.layout(1, fill: [1, 2])]) },
            "A layout is impossible: the fill value of column c1 has 2 bytes instead of 4."
        ),
        (
            Draft().with { $0.trees[1] = Draft.tree(2, layouts: [Draft.layout(1, columns: (1...200).map { ($0, ColumnKind.fixed4.rawValue) })]) },
            "A layout is impossible: a row of it with its fill values may not fit a page."
        ),
        (Draft().with { $0.trees[1] = Draft.tree(2, name: [0xFF, 0xFE]) }, "A name is not valid UTF-8."),
    ]

    @Test(arguments: 0..<contradictions.count) func aContradictionIsRefusedByName(_ index: Int) {
        let (draft, message) = Self.contradictions[index]
        let error = #expect(throws: EngineError.self) { try Catalogue.decode(draft.bytes, pageSize: 1024) }
        #expect(error?.code == .damaged)
        #expect(error?.message == message)
    }

    @Test func aCatalogueCutAnywhereIsRefused() {
        let bytes = Draft().bytes
        for length in 0..<bytes.count {
            let error = #expect(throws: EngineError.self) { try Catalogue.decode(Array(bytes[..<length]), pageSize: 1024) }
            #expect(error?.code == .damaged)
        }
    }
}
