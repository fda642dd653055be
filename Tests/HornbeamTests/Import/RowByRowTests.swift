import Foundation
import Hornbeam
import Testing

/// The rows of an import that must be refused alone, keys, and exact values.
@Suite struct RowByRowTests {
    private let skipping = ImportOptions(onRefusal: .skip)

    private func stack(_ kind: StoreKind) throws -> Stack {
        let classes: [ManagedObject.Type] = [RowShip.self, RowSailor.self]
        return try Stack(kind, ManagedObjectModel(for: classes), classes)
    }

    private let sailors = ImportMapping(RowSailor.self).object(RowSailor.ship, from: "ship", ImportMapping(RowShip.self))

    @Test("SEED-5: a row that gives the related object too many objects is refused alone", arguments: StoreKind.allCases)
    func tooManyAtTheOtherEnd(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let rows: [ImportRow] = ["a", "b", "c"].map { ["name": $0, "ship": "Argo"] } + [["name": "d", "ship": "Beagle"]]
        let report = try context.importRows(rows, with: sailors, options: skipping)
        #expect(report.inserted == 3 && report.refused.map(\.number) == [3])
        #expect(report.refused.first?.error.code == .tooManyObjects)
        #expect(try context.fetch(RowSailor.self).map(\.name).sorted() == ["a", "b", "d"])
        let ship = try #require(try context.object(RowShip.self, key: "Argo"))
        let owned = try ship.importRows([["name": "d"]], into: RowShip.crew, with: ImportMapping(RowSailor.self), options: skipping)
        #expect(owned.refusedCount == 1 && ship.crew.count == 2 && !context.hasChanges)
        #expect(hornbeamError { _ = try context.importRows([["name": "e", "ship": "Argo"]], with: sailors) } != nil)
    }

    @Test("SEED-6: JSON that is no value of a Codable attribute is refused", arguments: StoreKind.allCases)
    func codableShapes(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let rows: [ImportRow] = [
            ["name": "a", "home": ["street": "Main", "number": 1], "lucky": [1, 0]], ["name": "b", "home": ["street": 1]], ["name": "c", "home": "Main"],
            ["name": "d", "lucky": ["x": 1]], ["name": "e", "home": .null],
        ]
        let report = try context.importRows(rows, with: sailors, options: skipping)
        #expect(report.refused.map(\.number) == [2, 3, 4])
        #expect(report.refused.first?.error.message.contains("is no RowAddress") == true)
        let sailor = try #require(try context.object(RowSailor.self, key: "a"))
        #expect(sailor.home == RowAddress(street: "Main", number: 1) && sailor.lucky == [1, 0])
    }

    @Test("SEED-6: values of Foundation within a Codable attribute are those that the attribute writes itself", arguments: StoreKind.allCases)
    func nestedFoundationValues(kind: StoreKind) throws {
        let page = try #require(URL(string: "https://a.example/b"))
        let log = RowLog(time: Date(timeIntervalSinceReferenceDate: 0.5), bytes: Data([1, 2]), id: UUID(), page: page, drift: -.infinity)
        let row: [String: Any] = ["time": log.time, "bytes": log.bytes, "id": log.id, "page": log.page, "drift": log.drift]
        let context = try stack(kind).newContext()
        let rows: [[String: Any]] = [["name": "a", "log": row], ["name": "b", "log": ["drift": Decimal.nan]]]
        let report = try context.importRows(from: .dictionaries(rows), with: sailors, options: skipping)
        #expect(report.refused.map(\.error.code) == [.typeMismatch])
        #expect(try context.object(RowSailor.self, key: "a")?.log == log)
        let number: ImportRow = ["name": "c", "share": .decimal(try #require(Decimal(string: "1234567890123456.78")))]
        _ = try context.importRows([number], with: sailors)
        #expect(try context.object(RowSailor.self, key: "c")?.share?.value == 1_234_567_890_123_456.78)
    }

    @Test("SEED-6: numbers 0 and 1 of Foundation are numbers, and truth values are truth values")
    func foundationNumbers() throws {
        let json = try JSONSerialization.jsonObject(with: Data("[0, 1, true, false, 1.0, 1.5, 18446744073709551615]".utf8))
        let list: [PropertyValue] = [0, 1, true, false, 1, 1.5, .decimal(Decimal(UInt64.max))]
        #expect(try PropertyValue(foundation: json) == .array(list))
        let numbers: [(Any, PropertyValue)] = [
            (NSNumber(value: 1), 1), (NSNumber(value: true), true), (true, true), (1, 1), (Int8(1), 1), (NSNumber(value: Int8(0)), 0), (1.0, 1.0),
            (NSDecimalNumber(string: "1"), .decimal(1)),
        ]
        for (number, value) in numbers { #expect(try PropertyValue(foundation: number) == value, "\(number)") }
        let context = try stack(.inMemory).newContext()
        let rows = try #require(try JSONSerialization.jsonObject(with: Data(#"[{"name": "a", "lucky": [0, 1], "pay": 1}]"#.utf8)) as? [[String: Any]])
        _ = try context.importRows(from: .dictionaries(rows), with: sailors)
        #expect(try context.object(RowSailor.self, key: "a")?.lucky == [0, 1])
        #expect(try context.object(RowSailor.self, key: "a")?.pay == 1)
    }

    @Test(
        "SEED-6: decimals of JSON are exact",
        arguments: ["0.1", "1234567890123456.78", "0.12345678901234567890123456789", "-98765432109876543210.123456", "1.5e20", "0.30000000000000004"])
    func exactDecimals(text: String) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data(#"[{"name": "a", "pay": \#(text), "weight": \#(text)}]"#.utf8).write(to: url)
        let context = try stack(.inMemory).newContext()
        _ = try context.importRows(from: .json(url), with: sailors)
        let sailor = try #require(try context.object(RowSailor.self, key: "a"))
        #expect(sailor.pay == Decimal(string: text))
        #expect(sailor.weight == Double(text))
    }

    @Test("SEED-5: an import that saves each n rows saves after n, also above the number of rows found together", arguments: StoreKind.allCases)
    func savesEachN(kind: StoreKind) throws {
        let stack = try stack(kind)
        let rows: [ImportRow] = (0..<5000).map { ["name": .string("\($0)")] } + [["name": .null]]
        _ = hornbeamError {
            _ = try stack.newContext().importRows(rows[..<4999] + rows[5000...], with: sailors, options: ImportOptions(saving: .every(2500)))
        }
        #expect(try stack.newContext().count(RowSailor.self) == 2500)
    }

    @Test("SEED-5: keys that differ only in their Unicode normalisation are two keys, as for the unique constraint", arguments: StoreKind.allCases)
    func normalisation(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let rows: [ImportRow] = [["name": "caf\u{e9}", "pay": 1], ["name": "cafe\u{301}", "pay": 2]]
        #expect(try context.importRows(rows, with: sailors).inserted == 2)
        #expect(try context.importRows(rows, with: sailors).unchanged == 2)
        #expect(try context.object(RowSailor.self, key: "caf\u{e9}")?.pay == 1)
        #expect(try context.object(RowSailor.self, key: "cafe\u{301}")?.pay == 2)
        #expect(try context.count(RowSailor.self) == 2)
    }

    @Test("SEED-5: cleaning keeps an object that another context saved with the key of a row", arguments: StoreKind.allCases)
    func cleaningComparesKeys(kind: StoreKind) throws {
        let stack = try stack(kind)
        _ = try stack.newContext().importRows([["name": "old"]], with: sailors)
        let context = stack.newContext()
        // The other import saves while this one has inserted its object and has not saved it.
        let source = ImportSource<ImportRow>(AnySequence { () -> AnyIterator<ImportRow> in
            var number = 0
            return AnyIterator {
                number += 1
                if number == 2001 { _ = try? stack.newContext().importRows([["name": "0", "pay": 7]], with: sailors) }
                return number <= 2001 ? ["name": .string("\(number == 2001 ? 0 : number - 1)")] : nil
            }
        })
        let report = try context.importRows(from: source, with: sailors, options: ImportOptions(cleaning: ImportCleaning()))
        #expect(report.deleted == 1)
        #expect(try stack.newContext().count(RowSailor.self) == 2000)
        #expect(try stack.newContext().object(RowSailor.self, key: "0")?.pay == 7)
        #expect(try stack.newContext().object(RowSailor.self, key: "old") == nil)
    }

    @Test("SEED-5: rows of a stream are saved when a portion is complete, before the stream ends")
    func streamsSaveEarly() async throws {
        let container = try stack(.inMemory).container
        let (stream, continuation) = AsyncStream<ImportRow>.makeStream()
        let changes = container.changes()
        let mapping = ImportMapping(RowSailor.self)
        async let report = container.importRows(from: stream, with: mapping, options: ImportOptions(saving: .every(2)))
        continuation.yield(["name": "a"])
        continuation.yield(["name": "b"])
        for await _ in changes { break }
        #expect(try await container.read { try $0.count(RowSailor.self) } == 2)
        continuation.finish()
        #expect(try await report.inserted == 2)
    }
}

struct RowAddress: Codable, Sendable, Equatable {
    var street: String
    var number: Int
}

/// A number as JSON.
struct RowShare: Codable, Sendable, Equatable {
    var value: Double

    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Double.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

struct RowLog: Codable, Sendable, Equatable {
    var time: Date
    var bytes: Data
    var id: UUID
    var page: URL
    var drift: Double
}

@Entity final class RowShip: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var name: String
    @Relationship(maxCount: 2, inverse: \RowSailor.ship) var crew: Set<RowSailor>

    static var uniqueKey: Hornbeam.Attribute<String> { name }
}

@Entity final class RowSailor: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var name: String
    var home: RowAddress?
    var lucky: [Int]?
    var log: RowLog?
    var share: RowShare?
    var pay: Decimal?
    var weight: Double = 0
    var ship: RowShip?

    static var uniqueKey: Hornbeam.Attribute<String> { name }
}
