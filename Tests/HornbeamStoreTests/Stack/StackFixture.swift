import Foundation
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
@testable import HornbeamStore

/// Two stores of one stack on one simulated disk, and saves that insert an author with a book into each.
struct TwoStores {
    static let names = ["left.hornbeam", "right.hornbeam"]
    let stack: StoreStack

    /// - Parameter opening: The stores to open, by number; the others stay closed.
    init(on disk: any FileSystem, opening: [Int] = [0, 1], readOnly: Bool = false, isShared: Bool = false) throws {
        stack = StoreStack(try opening.map { StoreStack.Part(try Self.open(Self.names[$0], disk, readOnly: readOnly, isShared: isShared)) })
        try stack.completeInterruptedSaves()
    }

    static func open(_ name: String, _ disk: any FileSystem, readOnly: Bool = false, isShared: Bool = false) throws -> Store {
        var options = Store.Options()
        options.readOnly = readOnly
        options.isShared = isShared
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.engine.pageSize = 4_096
        options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
        return try Store.open(.directory(name), model: libraryModel, options: options)
    }

    /// Save n: inserts author n in both stores, with a book; the author before gets a year and a day.
    func save(_ number: Int) throws {
        var changes = StackChanges(in: stack, by: ChangeSet())
        for slot in stack.slots { changes[slot] = try part(number, try stack.store(in: slot)) }
        _ = try stack.save(changes)
    }

    /// Save n with the steps of a two-phase commit that other processes see, and without its lock: all processes of a test use that lock.
    func saveStoreByStore(_ number: Int) throws {
        let stores = stack.stores.sorted { $0.identifier.uuidString < $1.identifier.uuidString }
        for store in stores { _ = try store.save(try part(number, store)) }
        let transaction = try stores[0].engine.begin()
        try transaction.setValue(StoredValue.decision(UUID()), [UInt8](stores[1].identifier.uuidString.utf8))
        _ = try transaction.commit(.full)
    }

    private func part(_ number: Int, _ store: Store) throws -> ChangeSet {
        let (author, book) = (store.model.entitiesByName["Author"]!, store.model.entitiesByName["Book"]!)
        let key = try store.reserveKeys(2)
        var changes = ChangeSet()
        changes.inserts = [
            .init(entity: author, key: key, values: [(author.propertiesByName["name"]!, .string("author \(number)"))]),
            .init(
                entity: book, key: key + 1,
                values: [
                    (book.propertiesByName["title"]!, .string("book \(number)")),
                    (book.propertiesByName["author"]!, .objectID(store.objectID(ObjectReference(author, key)))),
                ]),
        ]
        if let before = try Self.find(number - 1, store) {
            changes.updates = [
                .init(
                    entity: author, key: before.key, expectedVersion: 1,
                    values: [(author.propertiesByName["born"]!, .int(Int64(number)))])
            ]
        }
        return changes
    }

    static func find(_ number: Int, _ store: Store) throws -> ObjectReference? {
        let predicate = try FetchPredicate(format: "name == %@", "author \(number)")
        return try store.snapshot().fetch(FetchDescription(entityName: "Author", predicate: predicate)).references.first
    }

    /// The number of saves in a store; throws unless the last one is complete.
    static func saves(in store: Store) throws -> Int {
        func count(_ entity: String, _ format: String) throws -> Int {
            try store.snapshot().count(FetchDescription(entityName: entity, predicate: try FetchPredicate(format: format)))
        }
        let authors = try count("Author", "TRUEPREDICATE")
        let books = try count("Book", "author.name BEGINSWITH 'author'")
        let changed = try count("Author", "born != nil")
        guard books == authors, changed == max(authors - 1, 0) else {
            throw Torn(description: "\(authors) authors, \(books) books, \(changed) changed in \(store.location)")
        }
        return authors
    }

    func close() throws { for store in stack.stores { try store.close() } }

    /// The numbers of the store with the commit records and of the other one.
    var roles: (coordinating: Int, participant: Int) {
        let identifiers = stack.stores.map(\.identifier.uuidString)
        return identifiers[0] < identifiers[1] ? (0, 1) : (1, 0)
    }

    /// The saves in the newest states of both stores.
    func newestSaves() throws -> [Int] { try Store.withTurns(of: stack.stores) { try stack.stores.map(Self.saves) } }

    /// The operating system releases the locks of a process that dies.
    func die() { for store in stack.stores { store.engine.sharedLock?.release() } }

    struct Torn: Error, CustomStringConvertible { let description: String }
}
