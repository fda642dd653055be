import Foundation
import HornbeamEngine
import HornbeamThreads
import Testing

@testable import Hornbeam
@testable import HornbeamStore

/// Two containers with an engine each of one store on disk, as two processes have them.
struct SharedPair {
    let here: PersistentContainer
    let there: PersistentContainer
    let url: URL

    /// `clockOffset`: the seconds by which the clock of the other process is ahead.
    init(
        _ model: ManagedObjectModel, _ classes: [ManagedObject.Type], clockOffset: Double = 0,
        _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
    ) throws {
        var description = try Stack.freshDescription(.onDisk)
        description.isShared = true
        description.busyTimeout = .seconds(300)
        configure(&description)
        url = description.url
        here = try Self.open([description], model, classes)
        description.clockOffset = clockOffset
        there = try Self.open([description], model, classes)
    }

    /// A container whose stores other containers of this process do not use.
    static func open(
        _ descriptions: [PersistentStoreDescription], _ model: ManagedObjectModel, _ classes: [ManagedObject.Type]
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: model, classes: classes)
        for description in descriptions {
            let store = try Store.open(description.location, model: model, options: description.options)
            try container.persistentStoreCoordinator.addOpenStore(store, as: description)
        }
        return container
    }

    static func company(_ configure: (inout PersistentStoreDescription) -> Void = { _ in }) throws -> SharedPair {
        try SharedPair(Company.model(), Company.classes, configure)
    }

    func close() throws {
        try here.close()
        try there.close()
    }
}

/// Stores with `isShared`. The other side is an engine of its own, on the disk of the system.
@Suite("Stores that several processes write") struct SharedStoreTests {
    @Test("PSC-22: the saves of another process reach sequences, with IDs, keys, author and process")
    func savesOfOthersReachSequences() async throws {
        let pair = try SharedPair.company()
        var changes = pair.here.changes().makeAsyncIterator()
        let (id, gone) = try pair.there.performAndWait { context in
            context.transactionAuthor = "the other"
            context.name = "import"
            let (employee, gone) = (context.employee("a"), context.employee("b"))
            try context.save()
            return (employee.objectID, gone.objectID)
        }
        let first = try #require(await changes.next())
        #expect(first.inserted == [id, gone])
        #expect(first.author == "the other" && first.contextName == "import")
        #expect(first.processIdentifier == ProcessInfo.processInfo.processIdentifier)
        #expect(first.processName == ProcessInfo.processInfo.processName)
        try pair.there.performAndWait { context in
            try context.existingObject(Employee.self, with: id).salary = 3
            context.delete(try context.existingObject(Employee.self, with: gone))
            try context.save()
        }
        let second = try #require(await changes.next())
        #expect(second.updated == [id] && second.changedKeys == [id: ["salary"]] && second.deleted == [gone])
        #expect(second.author == nil)
        try pair.here.performAndWait { context in
            context.employee("own")
            try context.save()
        }
        #expect(await changes.next()?.processIdentifier == nil)
        try pair.close()
    }

    @Test("MOC-12: contexts and fetched results follow the saves of another process")
    func contextsFollow() async throws {
        let pair = try SharedPair.company()
        let id = try pair.there.performAndWait { context in
            let employee = context.employee("a", salary: 1)
            try context.save()
            return employee.objectID
        }
        _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores()
        let context = pair.here.newContext()
        let employee = try context.existingObject(Employee.self, with: id)
        #expect(employee.salary == 1)
        var changes = pair.here.changes().makeAsyncIterator()
        try pair.there.performAndWait { context in
            try context.existingObject(Employee.self, with: id).salary = 2
            context.employee("b")
            try context.save()
        }
        _ = await changes.next()
        try context.mergeChanges()
        #expect(employee.salary == 2)
        #expect(try context.count(FetchRequest<Employee>()) == 2)
        try pair.close()
    }

    @Test("MOC-20: changes of one property on both sides conflict, and merge policies decide", arguments: Setting.policies.map(\.mineHolds))
    func conflicts(mineHolds: Bool) throws {
        let pair = try SharedPair.company()
        let id = try pair.there.performAndWait { context in
            let employee = context.employee("a", salary: 1)
            try context.save()
            return employee.objectID
        }
        _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores()
        let context = pair.here.newContext()
        context.automaticallyMergesChangesFromParent = false
        let employee = try context.existingObject(Employee.self, with: id)
        employee.salary = 10
        try pair.there.performAndWait { context in
            let employee = try context.existingObject(Employee.self, with: id)
            employee.salary = 20
            employee.name = "b"
            try context.save()
        }
        #expect(hornbeamError { try context.save() }?.code == .mergeConflict)
        context.mergePolicy = mineHolds ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump
        try context.save()
        #expect(employee.salary == (mineHolds ? 10 : 20) && employee.name == "b")
        try pair.there.performAndWait { context in
            _ = try pair.there.persistentStoreCoordinator.refreshReadOnlyStores()
            #expect(try context.existingObject(Employee.self, with: id).salary == (mineHolds ? 10 : 20))
        }
        try pair.close()
    }

    @Test("MOD-8: a unique value is unique across processes")
    func uniqueValues() throws {
        let pair = try SharedPair(Notebook.model(), [HNote.self, HFolder.self])
        for (number, container) in [pair.here, pair.there, pair.here].enumerated() {
            let error: HornbeamError? = try container.performAndWait { context in
                HNote(context: context).uid = "same"
                do { try context.save() } catch let error as HornbeamError { return error }
                return nil
            }
            #expect(error?.code == (number == 0 ? nil : .constraintConflict))
        }
        try pair.there.performAndWait { context in
            context.mergePolicy = .mergeByPropertyObjectTrump
            let note = HNote(context: context)
            (note.uid, note.text) = ("same", "there")
            try context.save()
        }
        _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores()
        let notes = try pair.here.newContext().fetch(FetchRequest<HNote>())
        #expect(notes.map(\.text) == ["there"])
        try pair.close()
    }

    @Test("SAV-11: processes that save over two stores, added in different orders, do not wait for each other")
    func savesOverSeveralStores() throws {
        let model = try StorePair.model()
        var descriptions = try [StorePair.description(.onDisk, "People"), StorePair.description(.onDisk, "Work")]
        for index in descriptions.indices {
            descriptions[index].isShared = true
            descriptions[index].busyTimeout = .seconds(300)
        }
        let sides = [
            try SharedPair.open(descriptions, model, Company.classes), try SharedPair.open(descriptions.reversed(), model, Company.classes),
        ]
        let problems = Guarded<[String]>([])
        Cores.share(3) { part in
            do {
                for number in 0..<25 {
                    if part == 2 {
                        // Half a save is never seen.
                        let context = sides[number % 2].newContext()
                        let employees = try context.count(FetchRequest<Employee>())
                        let projects = try context.count(FetchRequest<Project>())
                        let again = try context.count(FetchRequest<Employee>())
                        if projects < employees || again < projects { problems.withLock { $0.append("\(employees), \(projects), \(again)") } }
                        continue
                    }
                    try sides[part].performAndWait { context in
                        context.employee("\(part) \(number)")
                        context.project("\(part) \(number)")
                        try context.save()
                    }
                }
            } catch { problems.withLock { $0.append("\(error)") } }
        }
        #expect(problems.withLock { $0 } == [])
        for side in sides {
            _ = try side.persistentStoreCoordinator.refreshReadOnlyStores()
            let context = side.newContext()
            #expect(try context.count(FetchRequest<Employee>()) == 50)
            #expect(try context.count(FetchRequest<Project>()) == 50)
        }
        for side in sides { try side.close() }
    }

    @Test("a save that waits too long for another process throws busy and keeps the changes")
    func busy() throws {
        let pair = try SharedPair.company { $0.busyTimeout = .milliseconds(20) }
        let store = try pair.here.openStore()
        let context = pair.there.newContext()
        context.employee("a")
        let error = try store.withTurn { hornbeamError { try context.save() } }
        #expect(error?.code == .busy && error?.message.contains("process") == true)
        #expect(context.hasChanges)
        var left = 100
        while context.hasChanges, left > 0 {
            left -= 1
            do { try context.save() } catch let error as HornbeamError where error.code == .busy {}
        }
        #expect(!context.hasChanges)
        try pair.close()
    }

    @Test("PSC-8: metadata of another process are read")
    func metadata() throws {
        let pair = try SharedPair.company()
        try pair.there.openStore().setMetadata(["a": 1])
        _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores()
        #expect(try pair.here.openStore().metadata == ["a": 1])
        try pair.close()
    }

    @Test("ATT-11: derived attributes count the members that another process adds")
    func derivedAttributes() throws {
        let model = try ManagedObjectModel {
            Entity("Shelf") {
                Attribute<Int>("size", derivation: "books.@count")
                ToMany("books", to: "Book", inverse: "shelf")
            }
            Entity("Book") { ToOne("shelf", to: "Shelf", inverse: "books") }
        }
        let pair = try SharedPair(model, [])
        let id = try pair.here.performAndWait { context in
            let shelf = try context.insert(entityNamed: "Shelf")
            try context.save()
            return shelf.objectID
        }
        for number in 0..<6 {
            let container = number % 2 == 0 ? pair.there : pair.here
            _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
            try container.performAndWait { context in
                try context.insert(entityNamed: "Book").setValue(try context.existingObject(with: id), forKey: "shelf")
                try context.save()
            }
        }
        _ = try pair.there.persistentStoreCoordinator.refreshReadOnlyStores()
        #expect(try pair.there.newContext().existingObject(with: id).value(forKey: "size") == 6)
        try pair.close()
    }

    @Test("PSC-3: compaction, backup and destroy beside another process")
    func upkeep() throws {
        let pair = try SharedPair.company()
        let copy = pair.url.appendingPathExtension("copy")
        for number in 0..<20 {
            try (number % 2 == 0 ? pair.here : pair.there).performAndWait { context in
                for _ in 0..<50 { context.employee("\(number)") }
                try context.save()
            }
            if number % 5 == 0 { try pair.here.openStore().compact() }
            if number == 13 { _ = try pair.there.openStore().backup(to: copy.path) }
        }
        let own = PersistentStoreDescription(url: pair.url)
        #expect(hornbeamError { try pair.here.persistentStoreCoordinator.destroyPersistentStore(own) }?.code == .storeInUse)
        let replacement = PersistentStoreDescription(url: copy)
        #expect(hornbeamError { try pair.here.persistentStoreCoordinator.replacePersistentStore(own, with: replacement) }?.code == .storeInUse)
        for container in [pair.here, pair.there] {
            _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
            #expect(try container.newContext().count(FetchRequest<Employee>()) == 1000)
            #expect(try container.openStore().check().isSound)
        }
        try pair.close()
        let restored = try SharedPair.open([PersistentStoreDescription(url: copy)], Company.model(), Company.classes)
        #expect(try restored.newContext().count(FetchRequest<Employee>()) == 700)
        try restored.close()
    }

    /// The store of this process is closed while it keeps the turn.
    @Test("PSC-14: a shared store is moved, and another process continues with the old one", .timeLimit(.minutes(20)))
    func moving() throws {
        let pair = try SharedPair.company()
        try pair.here.performAndWait { context in
            context.employee("a")
            try context.save()
        }
        let coordinator = pair.here.persistentStoreCoordinator
        try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: Stack.freshDescription(.onDisk))
        #expect(try pair.here.newContext().count(FetchRequest<Employee>()) == 1)
        try pair.there.performAndWait { context in
            context.employee("b")
            try context.save()
            #expect(try context.count(FetchRequest<Employee>()) == 2)
        }
        try pair.close()
    }

    @Test("PSC-8: metadata that another process sets again are shown")
    func metadataSetInTurns() throws {
        let pair = try SharedPair.company()
        for (container, value) in [(pair.there, 1), (pair.here, 2), (pair.there, 1)] {
            try container.openStore().setMetadata(["a": .int(Int64(value))])
            _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores()
            #expect(try pair.here.openStore().metadata == ["a": .int(Int64(value))])
        }
        try pair.close()
    }
}
