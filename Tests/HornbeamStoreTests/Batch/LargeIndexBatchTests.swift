import Foundation
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import Testing
@testable import HornbeamStore

/// Batches into a store whose indexes are larger than its pool: most of their entries go into insert buffers.
@Suite("Batches into large indexes")
struct LargeIndexBatchTests {
    private static let path = "library.hornbeam"
    private let options: Store.Options

    init() {
        var options = Store.Options()
        options.fileSystem = SimulatedDisk()
        options.backgroundCheckpoints = false
        options.engine.pageSize = 1024
        options.poolBytes = 32 * 1024
        self.options = options
    }

    private func open() throws -> Library { try Library(Store.open(.directory(Self.path), model: libraryModel, options: options)) }

    private static func isbn(_ number: Int) -> String { String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 36) }

    /// Inserts books in batches of 200, with authors and years at random. Returns the keys of the books.
    private func fill(_ library: Library, _ count: Int, seed: UInt64 = 1) throws -> [UInt64] {
        var random = SeededGenerator(seed: seed)
        let authors = try (0 ..< 40).map { try library.insert("Author", ["name": .string("author \($0)")]) }
        var keys: [UInt64] = []
        while keys.count < count {
            let writer = try library.store.batchWriter(for: library.entity("Book"))
            for number in keys.count ..< min(keys.count + 200, count) {
                try writer.set(library.property("title", of: "Book"), "Title \(number % 89)")
                try writer.set(library.property("isbn", of: "Book"), .string(Self.isbn(number)))
                try writer.set(library.property("year", of: "Book"), Int64.random(in: 1900 ..< 2000, using: &random))
                try writer.setToOne(library.property("author", of: "Book"), authors.randomElement(using: &random)!)
                keys.append(try writer.append())
            }
            try writer.finish()
        }
        return keys
    }

    private func buffers(_ library: Library) throws -> [String] {
        try library.store.snapshot().engineSnapshot.treeNames.filter { $0.hasSuffix("/insert-buffer") }
    }

    private func expectBooks(_ keys: [UInt64], in library: Library) throws {
        let snapshot = try library.store.snapshot()
        var request = FetchDescription(entityName: "Book")
        for (number, key) in keys.enumerated() {
            request.predicate = try FetchPredicate(format: "isbn == %@", Self.isbn(number))
            #expect(try snapshot.fetch(request).references.map(\.key) == [key])
        }
        request.predicate = try FetchPredicate(format: "isbn >= 'a' AND isbn < 'k'")
        request.sortDescriptors = [.descending("isbn")]
        let sorted = keys.indices.filter { ("a" ..< "k").contains(Self.isbn($0)) }.sorted { Self.isbn($0) > Self.isbn($1) }.map { keys[$0] }
        #expect(try snapshot.fetch(request).references.map(\.key) == sorted)
        #expect(try snapshot.count(request) == sorted.count)
        request.fetchOffset = 20
        request.fetchLimit = 30
        #expect(try snapshot.fetch(request).references.map(\.key) == Array(sorted.dropFirst(20).prefix(30)))
        let report = try library.store.check()
        #expect(report.isSound, "\(report)")
    }

    @Test("objects are found by their unique values and in order, before and after opening again")
    func objectsAreFoundInOrder() throws {
        var library = try open()
        let keys = try fill(library, 2400)
        #expect(try buffers(library).count > 1, "The unique index and others have insert buffers.")
        try expectBooks(keys, in: library)
        try library.store.close()
        library = try open()
        try expectBooks(keys, in: library)
    }

    @Test("a batch with a taken value is refused, and changes nothing", arguments: [3, 1500, 2399])
    func takenValuesAreRefused(number: Int) throws {
        let library = try open()
        let keys = try fill(library, 2400)
        let writer = try library.store.batchWriter(for: library.entity("Book"))
        #expect {
            for new in Array(2400 ..< 2500) + [number] {
                try writer.set(library.property("title", of: "Book"), "New")
                try writer.set(library.property("isbn", of: "Book"), .string(Self.isbn(new)))
                try writer.append()
            }
            try writer.finish()
        } throws: { error in
            guard let conflict = (error as? SaveConflicts)?.uniques.first else { return false }
            return conflict.existing?.key == keys[number] && conflict.row == 101
        }
        try expectBooks(keys, in: library)
    }

    @Test("saves change and delete objects whose entries are in an insert buffer")
    func savesChangeBufferedEntries() throws {
        let library = try open()
        var keys = try fill(library, 2400)
        let entity = library.entity("Book")
        for number in stride(from: 0, to: 2400, by: 97) {
            try library.update(ObjectReference(entity, keys[number]), ["isbn": .string(Self.isbn(10_000 + number))])
            #expect(throws: SaveConflicts.self) { try library.insert("Book", ["title": .string("T"), "isbn": .string(Self.isbn(number + 1))]) }
            try library.update(ObjectReference(entity, keys[number]), ["isbn": .string(Self.isbn(number))])
        }
        try expectBooks(keys, in: library)
        while keys.count > 2200 { try library.delete(ObjectReference(entity, keys.removeLast())) }
        try expectBooks(keys, in: library)
    }

    @Test("salvage keeps all objects and links")
    func salvageKeepsAll() throws {
        let library = try open()
        let keys = try fill(library, 2400)
        let authors = try library.store.snapshot().fetch(FetchDescription(entityName: "Author")).references
        let members = try authors.map { try library.members($0, "publications").map(\.key).sorted() }
        #expect(members.joined().count == keys.count)
        try library.store.close()
        let report = try Store.salvage(Self.path, to: "new.hornbeam", model: libraryModel, options: options)
        #expect(report.losses.isEmpty && report.lostLinks == 0)
        let salvaged = try Library(Store.open(.directory("new.hornbeam"), model: libraryModel, options: options))
        try expectBooks(keys, in: salvaged)
        #expect(try authors.map { try salvaged.members($0, "publications").map(\.key).sorted() } == members)
    }
}
