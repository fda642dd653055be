import Foundation
import HornbeamModel
import HornbeamThreads
import Testing
@testable import HornbeamStore

/// The records of history: their bytes, their parts, and their removal.
@Suite("History records")
struct HistoryLogTests {
    @Test("decoded keys equal the encoded keys, whatever their gaps", arguments: 0 ..< 40 as Range<UInt64>)
    func keysComeBack(seed: UInt64) {
        var random = SeededGenerator(seed: seed + 1)
        var keys: Set<UInt64> = []
        // The keys of one store have the same top bit, because they come from one sequence.
        let high: UInt64 = seed.isMultiple(of: 2) ? 0 : 1 << 63
        for _ in 0 ..< Int(random.next() % 50) {
            let start = high | random.next() >> (random.next() % 60 + 2)
            keys.formUnion(start ..< start + random.next() % 20 + 1)
        }
        let sorted = keys.sorted()
        var bytes = HistoryRecordWriter()
        bytes.append(keys: sorted)
        var reader = HistoryRecordReader(bytes.bytes)
        let runs = reader.runs() ?? []
        #expect(Array(runs.joined()) == sorted && reader.isAtEnd, "seed \(seed)")
    }

    @Test("numbers, texts and doubles come back; cut bytes are refused")
    func partsComeBack() throws {
        for number in [0, 1, 127, 128, 16_383, 16_384, UInt64.max] {
            var bytes = HistoryRecordWriter()
            bytes.append(number: number)
            bytes.append(text: nil)
            bytes.append(text: "")
            bytes.append(text: "Grüße")
            bytes.append(double: -0.5)
            var reader = HistoryRecordReader(bytes.bytes)
            let read = (reader.number(), reader.text(), reader.text(), reader.text(), reader.double())
            #expect(read.0 == number && read.1 == .some(nil) && read.2 == "" && read.3 == "Grüße" && read.4 == -0.5)
            #expect(reader.isAtEnd)
            var cut = HistoryRecordReader(Array(bytes.bytes.dropLast()))
            _ = (cut.number(), cut.text(), cut.text(), cut.text())
            let double = cut.double()
            #expect(double == nil)
        }
    }

    @Test("damaged records are an error or another record, and never a trap", arguments: 0 ..< 30 as Range<UInt64>)
    func damageIsAnError(seed: UInt64) throws {
        let library = try Library()
        var change = StoreChange()
        let author = library.entity("Author")
        change.inserted = [1, 2, 3, 9, 100].map { ObjectReference(author, $0) }
        change.updated = [StoreChange.Updated(reference: ObjectReference(author, 7), properties: PropertyMask([0, 1]))]
        change.deleted = [ObjectReference(library.entity("Book"), 50)]
        let coding = library.store.reader.history
        let bytes = coding.encode(change, .makeOpening(), at: 1)
        var random = SeededGenerator(seed: seed + 1)
        for _ in 0 ..< 200 {
            var broken = bytes
            for _ in 0 ... random.next() % 4 { broken[Int(random.next() % UInt64(broken.count))] = UInt8(truncatingIfNeeded: random.next()) }
            if random.next() % 3 == 0 { broken.removeLast(Int(random.next() % UInt64(broken.count))) }
            do {
                _ = try coding.decode(broken, number: 5)
            } catch let error as HornbeamError {
                #expect(error.code == .damaged && error.message.contains("transaction 5"), "seed \(seed)")
            }
        }
        #expect(try coding.decode(bytes, number: 5).groups.map(\.count) == [5, 1, 1])
    }

    @Test("a million new objects take a few bytes, and scattered ones a byte or two each")
    func batchesAreSmall() throws {
        let library = try Library()
        let author = library.entity("Author")
        var change = StoreChange()
        change.inserted = (1 ... 1_000_000).map { ObjectReference(author, $0) }
        #expect(library.store.reader.history.encode(change, .makeOpening(), at: 1).count < 100)
        change.inserted = (1 ... 10_000).map { ObjectReference(author, $0 * 40) }
        #expect(library.store.reader.history.encode(change, .makeOpening(), at: 1).count < 10_100)
    }

    @Test("a record of many parts is read and deleted as a whole")
    func longRecordsAreWhole() throws {
        let library = try Library(history: HistoryRetention(recordCount: 4, unreadRecordCount: 4, ageSeconds: 1e9))
        let author = library.entity("Author")
        var changes = ChangeSet()
        for number in 0 ..< 3_000 { changes.inserts.append(try library.author("a\(number)")) }
        _ = try library.store.save(changes)
        var renaming = ChangeSet()
        for insert in changes.inserts where insert.key.isMultiple(of: 2) {
            renaming.updates.append(
                ChangeSet.Update(
                    entity: author, key: insert.key, expectedVersion: 1,
                    values: [(library.property("born", of: "Author"), .int(1))]))
        }
        _ = try library.store.save(renaming)
        let records = try library.records()
        #expect(records.last?.groups.map(\.count) == [1_500])
        #expect(records.last.map { $0.groups[0].references.map(\.key) } == renaming.updates.map(\.key).sorted())
        for number in 0 ..< 12 { try library.insert("Author", ["name": .string("late \(number)")]) }
        #expect(try library.records().allSatisfy { $0.groups.map(\.count) == [1] })
        #expect(try library.store.check().isSound)
    }

    @Test("records are deleted when they are too old, and not earlier; time never decreases")
    func oldRecordsGo() throws {
        let clock = Guarded(Date(timeIntervalSinceReferenceDate: 1_000_000))
        let library = try Library(
            history: HistoryRetention(recordCount: 1_000, unreadRecordCount: 1_000, ageSeconds: 640),
            clock: { clock.withLock { $0 } })
        func insertAfter(_ seconds: Double) throws {
            clock.withLock { $0 += seconds }
            try library.insert("Author", ["name": .string(UUID().uuidString)])
        }
        for _ in 0 ..< 10 { try insertAfter(100) }
        // The newest seven are at most 640 seconds old.
        #expect(try library.records().count == 7)
        let newest = try #require(try library.records().last?.timestamp)
        try insertAfter(-500)
        #expect(try library.records().last?.timestamp == newest)
        try insertAfter(100_000)
        #expect(try library.records().count == 1)
    }

    @Test("a position of commits that a crash lost returns resync")
    func divergedPositionsResync() throws {
        let library = try Library()
        try library.insert("Author", ["name": "a"])
        var position = try library.store.historyPosition()
        position.number += 5
        guard case .resync(.diverged, _) = try library.store.history(after: position) else {
            return #expect(Bool(false), "commits that are not there cannot be known")
        }
        position.number -= 5
        position.time += 1
        guard case .resync(.diverged, _) = try library.store.history(after: position) else {
            return #expect(Bool(false), "the same number stands for another commit")
        }
    }

    @Test("a commit without changes leaves no record")
    func emptyCommitsAreSilent() throws {
        let library = try Library()
        try library.store.setMetadata(["note": "x"])
        _ = try library.store.reserveKeys(10_000)
        #expect(try library.records().isEmpty)
    }
}

extension Library {
    fileprivate init(history: HistoryRetention, clock: @escaping @Sendable () -> Date = { Date() }) throws {
        var options = Store.Options()
        options.history = history
        options.clock = clock
        try self.init(options: options)
    }

    fileprivate func author(_ name: String) throws -> ChangeSet.Insert {
        ChangeSet.Insert(
            entity: entity("Author"), key: try store.reserveKeys(1), values: [(property("name", of: "Author"), .string(name))])
    }

    func records() throws -> [HistoryRecord] {
        guard case .records(let records, _) = try store.history(after: nil) else { return [] }
        return records
    }
}
