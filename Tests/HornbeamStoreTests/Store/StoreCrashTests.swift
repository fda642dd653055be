import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import Testing
@testable import HornbeamStore

/// Saves of a graph on a disk that crashes at every operation: acknowledged saves are present, and no save is partial.
@Suite("Crashes")
struct StoreCrashTests {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    private func open(_ disk: SimulatedDisk) throws -> Store {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.engine.pageSize = 4_096
        options.engine.checkpointLogBytes = 60_000
        options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
        return try Store.open(.directory("graph.hornbeam"), model: libraryModel, options: options)
    }

    /// Save n: inserts an author with a tagged book; the author before gets n as year of birth; book n − 3 is deleted.
    private func save(_ number: Int, _ store: Store) throws {
        let (author, book, tag) = (entity("Author", store), entity("Book", store), entity("Tag", store))
        var changes = ChangeSet()
        let key = try store.reserveKeys(3)
        let id = PropertyValue.objectID(store.objectID(ObjectReference(author, key)))
        changes.inserts = [
            insert(author, key, ["name": .string("author \(number)")]),
            insert(book, key + 1, ["title": .string("book \(number)"), "isbn": .string("\(number)"), "author": id]),
            insert(tag, key + 2, ["label": .string("tag \(number)")]),
        ]
        changes.links = [
            ChangeSet.Link(
                relationship: book.propertiesByName["tags"]!, owner: ObjectReference(book, key + 1),
                added: [ObjectReference(tag, key + 2)])
        ]
        if let before = try find("Author", "name == 'author \(number - 1)'", store) {
            changes.updates = [
                ChangeSet.Update(
                    entity: author, key: before.key, expectedVersion: 1,
                    values: [(author.propertiesByName["born"]!, .int(Int64(number)))])
            ]
        }
        if let old = try find("Book", "isbn == '\(number - 3)'", store) {
            changes.deletes = [ChangeSet.Delete(entity: book, key: old.key, expectedVersion: 1)]
        }
        _ = try store.save(changes)
    }

    private func entity(_ name: String, _ store: Store) -> EntityDescription { store.model.entitiesByName[name]! }

    private func insert(_ entity: EntityDescription, _ key: UInt64, _ values: [String: PropertyValue]) -> ChangeSet.Insert {
        ChangeSet.Insert(
            entity: entity, key: key, values: values.sorted { $0.key < $1.key }.map { (entity.propertiesByName[$0.key]!, $0.value) })
    }

    private func find(_ entity: String, _ format: String, _ store: Store) throws -> ObjectReference? {
        let request = FetchDescription(entityName: entity, predicate: try FetchPredicate(format: format))
        return try store.snapshot().fetch(request).references.first
    }

    private func count(_ entity: String, _ format: String? = nil, _ store: Store) throws -> Int {
        try store.snapshot().count(
            FetchDescription(entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) }))
    }

    /// Throws unless the store has the state after a save between the last acknowledged and the last begun.
    private func judge(_ image: CrashEnumerator.Image) throws {
        let store: Store
        do {
            store = try open(image.disk)
        } catch let error as HornbeamError where error.code == .notAStore && image.acknowledged == 0 {
            return
        }
        image.disk.mark(.recovered)
        let saves = try count("Author", nil, store)
        guard saves >= image.acknowledged, saves <= image.submitted else {
            throw Wrong(description: "\(saves) saves are there; \(image.acknowledged) were promised, \(image.submitted) begun")
        }
        let expected = [
            ("Tag", nil, saves), ("Book", nil, min(saves, 3)), ("Author", "born != nil", max(saves - 1, 0)),
            ("Book", "ANY tags.label BEGINSWITH 'tag' AND author.name != nil", min(saves, 3)),
            ("Author", "publications.@count == 1", min(saves, 3)),
        ]
        for (entity, format, wanted) in expected {
            let found = try count(entity, format, store)
            guard found == wanted else {
                throw Wrong(description: "after \(saves) saves there are \(found) \(entity) where \(format ?? "any"), not \(wanted)")
            }
        }
        try judgeHistory(store, saves)
        let report = try store.check()
        guard report.isSound else { throw Wrong(description: "\(report)") }
        try save(saves + 1, store)
        try store.close()
    }

    /// History and rows are one transaction: history has exactly one record for each durable save.
    private func judgeHistory(_ store: Store, _ saves: Int) throws {
        guard case .records(let records, _) = try store.history(after: nil) else {
            throw Wrong(description: "history from its beginning cannot be told")
        }
        let inserted = records.map { record in record.groups.filter { if case .inserted = $0.change { true } else { false } } }
        guard records.count == saves, inserted.allSatisfy({ $0.count == 3 }) else {
            throw Wrong(description: "after \(saves) saves history tells of \(records.count)")
        }
        for author in inserted.joined() where author.entity.name == "Author" {
            for reference in author.references where try !store.snapshot().exists(author.entity, reference.key) {
                throw Wrong(description: "history tells of author \(reference), who is not there")
            }
        }
    }

    @Test("every crash leaves all acknowledged saves, complete, and a sound store that continues")
    func crashesKeepAcknowledgedSaves() throws {
        var enumerator = CrashEnumerator(seed: 1)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 3
        let report = try enumerator.run(
            workload: { disk in
                let store = try open(disk)
                for number in 1 ... 8 {
                    disk.mark(.submitted(UInt64(number)))
                    try save(number, store)
                    disk.mark(.acknowledged(UInt64(number)))
                    if number == 5 { try store.checkpoint() }
                }
                try store.close()
            }, verify: judge)
        print("store crashes: \(report)")
        #expect(report.images > 50)
    }
}
