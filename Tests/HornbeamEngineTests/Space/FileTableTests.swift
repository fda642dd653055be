import Testing

@testable import HornbeamEngine

/// The checks of a file table from untrusted bytes.
@Suite struct FileTableTests {
    private func table(_ live: [Int64]) -> FileTable {
        var table = FileTable()
        for (number, live) in live.enumerated() {
            table.entries[PageFileNumber(UInt32(number + 1))] = FileTable.Entry(live: live, emptySince: UInt64(number))
        }
        return table
    }

    @Test(arguments: [[], [0], [7, 3, 4096], [1 << 35 + 1 << 19, 1 << 35]] as [[Int64]])
    func aTableComesBackAsItWas(_ live: [Int64]) throws {
        let decoded = try FileTable.decode(table(live).encode())
        #expect(decoded.entries.mapValues(\.live) == table(live).entries.mapValues(\.live))
        #expect(decoded.entries.mapValues(\.emptySince) == table(live).entries.mapValues(\.emptySince))
        #expect(decoded.liveBytes == live.reduce(0) { $0 + Int(max($1, 0)) })
    }

    @Test(arguments: [
        [1 << 60], [-(1 << 60)], [.min], [-1], [4096, -1], [1 << 35 + 1 << 19 + 1], Array(repeating: (1 << 60) - 1, count: 9),
    ] as [[Int64]])
    func countsThatNoStoreHasAreDamage(_ live: [Int64]) throws {
        let bytes = table(live).encode()
        let error = #expect(throws: EngineError.self) { _ = try FileTable.decode(bytes) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("live bytes in page file") == true)
    }

    @Test func bytesBehindTheTableAndBytesThatAreMissingAreDamage() {
        let bytes = table([1, 2]).encode()
        #expect(throws: EngineError.self) { _ = try FileTable.decode(bytes + [0]) }
        #expect(throws: EngineError.self) { _ = try FileTable.decode(bytes.dropLast()) }
    }
}
