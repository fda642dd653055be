import Foundation
@testable import HornbeamEngine
@testable import HornbeamSimulation
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Saves over several stores are atomic in every crash (SAV-11).
@Suite("Saves over several stores") struct JointSaveTests {
    private func twoSaves(on disk: SimulatedDisk) throws {
        let stores = try TwoStores(on: disk)
        for number in 1 ... 2 {
            disk.mark(.submitted(UInt64(number)))
            try stores.save(number)
            disk.mark(.acknowledged(UInt64(number)))
        }
        try stores.close()
    }

    /// Throws unless both stores show the same number of saves, between the last acknowledged and the last begun.
    private func judge(_ image: CrashEnumerator.Image) throws {
        let stores: TwoStores
        do {
            stores = try TwoStores(on: image.disk)
        } catch let error as HornbeamError where error.code == .notAStore && image.acknowledged == 0 {
            return
        }
        image.disk.mark(.recovered)
        let saves = try stores.stack.stores.map(TwoStores.saves)
        guard saves[0] == saves[1], saves[0] >= image.acknowledged, saves[0] <= image.submitted else {
            throw TwoStores.Torn(description: "\(saves) saves; \(image.acknowledged) acknowledged, \(image.submitted) begun")
        }
        try stores.save(saves[0] + 1)
        for store in stores.stack.stores {
            guard try TwoStores.saves(in: store) == saves[0] + 1 else {
                throw TwoStores.Torn(description: "the next save is not in \(store.location)")
            }
            let report = try store.check()
            guard report.isSound else { throw TwoStores.Torn(description: "\(report)") }
        }
        try stores.close()
    }

    @Test("SAV-11: every crash between the stores' syncs leaves both stores with the same saves")
    func crashesKeepStoresTogether() throws {
        var enumerator = CrashEnumerator(seed: 11)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 9
        enumerator.nestingDepth = 1
        enumerator.nestedImagesPerImage = 1
        let report = try enumerator.run(workload: twoSaves, verify: judge)
        print("joint saves: \(report)")
        #expect(report.images > 60)
    }

    /// Throws unless two stores opened for reading show the same saves, before and after the stores are opened for writing.
    private func judgeReading(_ image: CrashEnumerator.Image) throws {
        let readers: TwoStores
        do {
            readers = try TwoStores(on: image.disk, readOnly: true)
        } catch let error as HornbeamError where error.code == .notAStore && image.acknowledged == 0 {
            return
        }
        func expect(_ lowest: Int, _ highest: Int) throws -> Int {
            let saves = try readers.stack.stores.map(TwoStores.saves)
            guard saves[0] == saves[1], saves[0] >= lowest, saves[0] <= highest else {
                throw TwoStores.Torn(description: "\(saves) saves are read, \(lowest) to \(highest) expected")
            }
            return saves[0]
        }
        let saves = try expect(Int(image.acknowledged), Int(image.submitted))
        guard image.disk.operationCount == 0 else { throw TwoStores.Torn(description: "reading has written") }
        let writers = try TwoStores(on: image.disk)
        _ = try readers.stack.refresh()
        _ = try expect(saves, saves)
        try writers.save(saves + 1)
        _ = try readers.stack.refresh()
        _ = try expect(saves, saves + 1)
        try writers.close()
        _ = try readers.stack.refresh()
        _ = try expect(saves + 1, saves + 1)
        try readers.close()
    }

    @Test("SAV-11: after every crash two stores that are opened for reading show the same saves, and write nothing")
    func readersSeeWholeSaves() throws {
        var enumerator = CrashEnumerator(seed: 12)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 5
        let report = try enumerator.run(workload: twoSaves, verify: judgeReading)
        print("joint saves read: \(report)")
        #expect(report.images > 60)
    }

    @Test("a store in doubt can be read and refuses to be written until the store that decided is beside it")
    func doubtIsEndedByTheDecider() throws {
        let disk = try TwoStores.interrupted(isCommitted: true)
        let stores = try TwoStores.names.map { try TwoStores.open($0, disk) }
        let doubtful = try #require(stores.first { $0.joint.prepared != nil })
        let decider = try #require(stores.first { $0.joint.prepared == nil })
        let alone = StoreStack([StoreStack.Part(doubtful)])
        try alone.completeInterruptedSaves()
        #expect(try TwoStores.saves(in: doubtful) == 1)
        var changes = ChangeSet()
        let author = doubtful.model.entitiesByName["Author"]!
        changes.inserts = [.init(entity: author, key: try doubtful.reserveKeys(1), values: [])]
        let error = #expect(throws: HornbeamError.self) { try doubtful.save(changes) }
        #expect(error?.code == .incompleteSave)
        #expect(error?.message == """
            “\(doubtful.location)” has a part of an interrupted save over several stores. Only the store \
            “\(decider.location)” contains its outcome. Add both stores to one coordinator; until then this one can be read but \
            not written.
            """)
        let both = StoreStack([StoreStack.Part(doubtful), StoreStack.Part(decider)])
        try both.completeInterruptedSaves()
        #expect(try stores.map(TwoStores.saves) == [2, 2])
        for store in stores { try store.close() }
    }

    @Test("conflicts of all stores come together, and nothing is written")
    func conflictsComeTogether() throws {
        let libraries = try [Library(), Library()]
        let stack = StoreStack(libraries.map { StoreStack.Part($0.store) })
        let authors = try libraries.map { try $0.insert("Author", ["name": "a"]) }
        for (library, author) in zip(libraries, authors) {
            var change = ChangeSet()
            change.updates = [
                .init(entity: library.entity("Author"), key: author.key, expectedVersion: 1, values: library.pairs("Author", ["born": 1]))
            ]
            _ = try library.store.save(change)
        }
        var changes = StackChanges(in: stack, by: ChangeSet())
        for (slot, library) in zip(stack.slots, libraries) {
            changes[slot].updates = [
                .init(
                    entity: library.entity("Author"), key: authors[slot.index].key, expectedVersion: 1,
                    values: library.pairs("Author", ["born": 2]))
            ]
        }
        let conflicts = #expect(throws: SaveConflicts.self) { try stack.save(changes) }
        #expect(conflicts?.versions.map(\.reference) == zip(stack.slots, authors).map { $1.inSlot($0) })
        let born = try zip(libraries, authors).map { library, author in
            try library.store.snapshot().values(library.entity("Author"), author.key)?.values[library.property("born", of: "Author").index]
        }
        #expect(born == [.int(1), .int(1)])
    }

    @Test("a prepared part decodes to its changes bit for bit")
    func promisesKeepEveryBit() throws {
        let library = try Library()
        let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
        let target = try library.insert("Author", ["name": "a"])
        let values: [String: PropertyValue] = [
            "date": .date(date), "double": .double(-.infinity), "float": .double(0.1), "data": .data(Data([0, 255])),
            "string": "e\u{301}", "int64": .int(.min), "decimal": .decimal(Decimal(string: "1.50")!), "bool": true,
        ]
        var changes = ChangeSet()
        changes.inserts = [
            .init(entity: library.entity("Values"), key: 7, values: library.pairs("Values", values)),
            .init(
                entity: library.entity("Desk"), key: 8,
                values: library.pairs("Desk", ["author": .objectID(library.store.objectID(target)), "place": .null])),
        ]
        changes.links = [
            .init(relationship: library.property("tags", of: "Book"), owner: target, added: [target], removed: [], order: [target])
        ]
        let promise = PreparedChanges(changes, decision: UUID(), decider: library.store, model: library.store.model)
        let kept = try JSONDecoder().decode(PreparedChanges.self, from: JSONEncoder().encode(promise))
        let given = try kept.changeSet(for: library.store)
        for (before, after) in zip(changes.inserts, given.inserts) {
            #expect(before.key == after.key && before.entity === after.entity)
            #expect(before.values.map(\.1) == after.values.map(\.1))
        }
        guard case .objectID(let id)? = given.inserts[1].values.first(where: { !$0.1.isNull })?.1 else {
            Issue.record("the to-one is lost")
            return
        }
        #expect(library.store.reference(id) == target)
        #expect(given.links.first?.order == [target])
    }
}
