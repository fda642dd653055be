import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import Testing
@testable import HornbeamStore

/// A store that a crash left with a prepared part of a save over two stores, opened with the next version of its model.
///
/// The prepared part has the names of the old model. A migration that left it aside made the saved objects unreadable.
@Suite struct InterruptedSaveMigrationTests {
    /// The state of the store with the commit record when the other one is migrated.
    enum Coordinating: String, CaseIterable { case isClosed, isOpen, wasMigrated, movedAlong }

    /// Authors become writers, with another name for their name.
    private static let next = Result {
        var definition = libraryModel.definition
        for entity in definition.entities.indices {
            for place in definition.entities[entity].relationships.indices
            where definition.entities[entity].relationships[place].destinationEntityName == "Author" {
                definition.entities[entity].relationships[place].destinationEntityName = "Writer"
            }
        }
        (definition.entities[0].name, definition.entities[0].renamingIdentifier) = ("Writer", "Author")
        (definition.entities[0].attributes[0].name, definition.entities[0].attributes[0].renamingIdentifier) = ("fullName", "name")
        definition.entities[0].uniquenessConstraints = [["fullName"]]
        return try ManagedObjectModel(definition)
    }

    private static func open(_ name: String, _ disk: SimulatedDisk, _ model: ManagedObjectModel, isShared: Bool = false) throws -> Store {
        var options = Store.Options()
        options.isShared = isShared
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.migration = MigrationOptions()
        return try Store.open(.directory(name), model: model, options: options)
    }

    /// The names of the store with the prepared part and of the other one.
    private static func names(_ disk: SimulatedDisk) throws -> (doubtful: String, coordinating: String) {
        let doubtful = try #require(
            try TwoStores.names.first { name in
                let store = try TwoStores.open(name, disk.copy(), readOnly: true)
                defer { try? store.close() }
                return try store.preparedPart() != nil
            })
        return (doubtful, try #require(TwoStores.names.first { $0 != doubtful }))
    }

    /// The number of saves that a store of the new version has, each with an author and a book.
    private static func saves(in store: Store) throws -> Int {
        func count(_ entity: String, _ format: String) throws -> Int {
            try store.snapshot().count(FetchDescription(entityName: entity, predicate: try FetchPredicate(format: format)))
        }
        let writers = try count("Writer", "fullName BEGINSWITH 'author'")
        #expect(try count("Book", "author.fullName BEGINSWITH 'author'") == writers)
        #expect(try count("Writer", "born != nil") == writers - 1)
        #expect(try store.check().problems == [])
        return writers
    }

    @Test("SAV-11, MIG-1: a save over two stores is complete in both after a crash and a migration", arguments: Coordinating.allCases)
    func committedSavesAreCompleted(state: Coordinating) throws {
        let disk = try TwoStores.interrupted(isCommitted: true).copy()
        let names = try Self.names(disk)
        let model = try Self.next.get()
        var folder = ""
        if state == .movedAlong {
            folder = "moved/"
            try disk.createDirectory("moved")
            for name in TwoStores.names { try disk.rename(name, to: folder + name) }
        }
        var other: Store?
        switch state {
        case .isOpen: other = try Self.open(folder + names.coordinating, disk, libraryModel)
        case .wasMigrated: other = try Self.open(folder + names.coordinating, disk, model)
        case .isClosed, .movedAlong: break
        }
        let doubtful = try Self.open(folder + names.doubtful, disk, model)
        #expect(doubtful.joint.prepared == nil)
        #expect(try Self.saves(in: doubtful) == 2)
        if state == .isOpen { try other?.close() }
        let coordinating = try state == .wasMigrated ? #require(other) : Self.open(folder + names.coordinating, disk, model)
        try StoreStack([StoreStack.Part(doubtful), StoreStack.Part(coordinating)]).completeInterruptedSaves()
        #expect(try [doubtful, coordinating].map(Self.saves) == [2, 2])
        let kinds = try doubtful.historyKinds()
        #expect(kinds == [.save, .save, .migration])
        for store in [doubtful, coordinating] { try store.close() }
    }

    @Test("SAV-11, MIG-1: a save that was not committed is dropped by the migration")
    func uncommittedSavesAreDropped() throws {
        let disk = try TwoStores.interrupted(isCommitted: false).copy()
        for name in TwoStores.names {
            let store = try Self.open(name, disk, Self.next.get())
            #expect(store.joint.prepared == nil)
            #expect(try Self.saves(in: store) == 1)
            try store.close()
        }
    }

    /// The commit record may be in the log and not durable. A process that reads the store beside another one does not see it; the next writer does.
    @Test(
        "SAV-11, MIG-1: a save of a process that died is in both stores or in none after a migration beside another process", arguments: 0 ..< 4,
        [false, true])
    func migrationBesideAnotherProcess(part: Int, isShared: Bool) throws {
        var after = part
        while true {
            let (disk, survivor, dying, faults) = try SharedStackTests.processes(dyingAfter: after)
            let (coordinating, participant) = survivor.roles
            if !isShared { try survivor.stack.stores[participant].close() }
            try? dying.save(2)
            dying.die()
            let migrated = try Self.open(TwoStores.names[participant], disk, Self.next.get(), isShared: isShared)
            let other = survivor.stack.stores[coordinating]
            let saves = try other.withTurn { try TwoStores.saves(in: other) }
            #expect(try Self.saves(in: migrated) == saves, "call \(after)")
            try migrated.close()
            if isShared { try survivor.close() } else { try other.close() }
            withExtendedLifetime(dying) {}
            if faults.firedCount == 0 { break }
            after += 4
        }
        #expect(after > 8)
    }

    /// The first reading of both stores after the migration threw the error of a save.
    @Test("a process with the old model of one of its two stores reads the last state of that one and new states of the other")
    func oldModelOfOneStore() throws {
        let disk = SimulatedDisk()
        let old = try TwoStores(on: disk, isShared: true)
        try old.save(1)
        let shown = try old.stack.snapshot()
        let migrated = try Self.open(TwoStores.names[0], disk, Self.next.get(), isShared: true)
        let other = try TwoStores.open(TwoStores.names[1], disk, isShared: true)
        let author = try #require(other.model.entitiesByName["Author"])
        let name = try #require(author.propertiesByName["name"])
        var changes = ChangeSet()
        changes.inserts = [.init(entity: author, key: try other.reserveKeys(1), values: [(name, .string("later"))])]
        _ = try other.save(changes)
        #expect(try old.stack.stores[1].refresh())
        let counts = try old.stack.snapshot().parts.map { try $0?.count(FetchDescription(entityName: "Author")) }
        #expect(counts == [1, 2])
        withExtendedLifetime(shown) {}
        for store in [migrated, other] { try store.close() }
        try old.close()
    }

    @Test("SAV-11, MIG-1: without the store that has the outcome a migration is refused, and the store stays as it was")
    func missingOutcomeIsAnError() throws {
        let disk = try TwoStores.interrupted(isCommitted: true).copy()
        let names = try Self.names(disk)
        try disk.rename(names.coordinating, to: "away")
        let error = #expect(throws: HornbeamError.self) { try Self.open(names.doubtful, disk, Self.next.get()) }
        #expect(error?.code == .incompleteSave)
        #expect(error?.message == """
            “\(names.doubtful)” has a part of an interrupted save over several stores, which must be completed before the store is migrated. Only \
            the store “\(names.coordinating)” contains its outcome, and it cannot be read. Put it back, and open the store again. The store is \
            unchanged.
            """)
        let old = try Self.open(names.doubtful, disk, libraryModel)
        #expect(try TwoStores.saves(in: old) == 1)
        try old.close()
        try disk.rename("away", to: names.coordinating)
        let migrated = try Self.open(names.doubtful, disk, Self.next.get())
        #expect(try Self.saves(in: migrated) == 2)
        try migrated.close()
    }
}

extension Store {
    /// The kinds of the transactions in history.
    fileprivate func historyKinds() throws -> [HistoryRecord.Kind] {
        guard case .records(let records, _) = try history(after: nil) else { return [] }
        return records.map(\.kind)
    }
}
