import Foundation
import Hornbeam
import Testing

private final class Room: ManagedObject {
    static let name = Attribute<String>("name", unique: true)
    static let volumes = ToMany<Volume>("volumes", inverse: "room", deleteRule: .deny)

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var volumes: ManagedSet<Volume> { get { self[Self.volumes] } set { self[Self.volumes] = newValue } }
}

private final class Volume: ManagedObject {
    static let title = Attribute<String>("title")
    static let year = Attribute<Int?>("year")
    static let loans = Attribute<Int>("loans", default: 0, merge: .sum)
    static let room = ToOne<Room>("room", inverse: "volumes")

    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var year: Int? { get { self[Self.year] } set { self[Self.year] = newValue } }
    var loans: Int { get { self[Self.loans] } set { self[Self.loans] = newValue } }
    var room: Room? { get { self[Self.room] } set { self[Self.room] = newValue } }
}

/// The last viewed item, for the store in memory.
private final class Visit: ManagedObject {
    static let volume = Attribute<ManagedObjectID?>("volume")
    static let date = Attribute<Date>("date")

    var volume: ManagedObjectID? { get { self[Self.volume] } set { self[Self.volume] = newValue } }
    var date: Date { get { self[Self.date] } set { self[Self.date] = newValue } }
}

/// One program that combines the features of the documents: two stores, batches, a list in sections, drafts in child contexts, undo
/// and history.
@Suite("A program that uses everything together") struct WalkthroughTests {
    private func library(at url: URL) throws -> PersistentContainer {
        let model = try ManagedObjectModel {
            Entity("Room") { Room.name; Room.volumes }
            Entity("Volume") { Volume.title; Volume.year; Volume.loans; Volume.room; Indexed("year") }
            Entity("Visit") { Visit.volume; Visit.date }
            Configuration("Library", ["Room", "Volume"])
            Configuration("Recent", ["Visit"])
        }
        let container = try PersistentContainer(name: "Library", model: model, classes: [Room.self, Volume.self, Visit.self])
        var (lasting, recent) = (PersistentStoreDescription(url: url), PersistentStoreDescription.inMemory())
        lasting.configurationName = "Library"
        recent.configurationName = "Recent"
        recent.history = nil
        container.persistentStoreDescriptions = [lasting, recent]
        try container.loadPersistentStores()
        return container
    }

    @Test("CON-8, SAV-14, MOC-33: import, list, draft, undo, and reading history a second time")
    @MainActor func everythingTogether() async throws {
        let container = try library(at: Stack.freshDescription(.onDisk).url)
        let start = try container.history.currentToken()

        // Import in the background.
        let rooms = try await container.performBackgroundTask { context in
            context.transactionAuthor = "import"
            let rooms = ["a", "b"].map { name in
                let room = Room(context: context)
                room.name = name
                return room
            }
            try context.save()
            let ids = rooms.map(\.objectID)
            let request = BatchInsertRequest(Volume.self, from: 0..<10) { number, row in
                row.set(Volume.title, "Title \(number)")
                row.set(Volume.year, number < 8 ? 1900 + number : nil)
                row.set(Volume.room, ids[number % 2])
            }
            let result = try context.execute(request)
            #expect(result.count == 10)
            return ids
        }

        // A list in sections is updated.
        let view = container.viewContext
        view.undoStack = UndoStack()
        let list = try FetchedResultsController(
            FetchRequest<Volume>().where("year != nil").sorted(by: "room.name").sorted(by: "year", ascending: false), in: view,
            sectionedBy: "room.name")
        var changes: [String] = []
        list.onChange = { change in
            for object in change.objects {
                switch object {
                case .insert(let volume, let path): changes.append("insert \(volume.title) \(path)")
                case .delete(_, let path): changes.append("delete \(path)")
                case .move(let volume, let from, let to): changes.append("move \(volume.title) \(from) \(to)")
                case .update(let volume, _, let path): changes.append("update \(volume.title) \(path)")
                }
            }
        }
        try list.performFetch()
        #expect(list.sections.map(\.name) == ["a", "b"])
        #expect(list.sections.map { $0.objects.map(\.year) } == [[1906, 1904, 1902, 1900], [1907, 1905, 1903, 1901]])

        // One draft is discarded, and one is saved.
        for isKept in [false, true] {
            let draft = view.newChildContext()
            let volume = try draft.existingObject(Volume.self, with: list.object(at: [0, 0]).objectID)
            volume.title = "Renamed"
            volume.room = try draft.existingObject(Room.self, with: rooms[1])
            if isKept { try draft.save() }
            view.processPendingChanges()
        }
        #expect(changes == ["move Renamed [0, 0] [1, 1]"])
        view.undo()
        #expect(changes.last == "move Title 6 [1, 1] [0, 0]")
        #expect(!view.hasChanges)
        view.redo()
        #expect(try #require(list.fetchedObjects).map(\.title).contains("Renamed"))

        // Both stores in one save.
        let visit = Visit(context: view)
        visit.volume = list.object(at: [1, 1]).objectID
        visit.date = Date()
        let middle = try container.history.currentToken()
        try view.save()
        #expect(visit.objectID.storeIdentifier != visit.volume?.storeIdentifier)
        let visited = try view.existingObject(Volume.self, with: #require(visit.volume))
        #expect(visited.title == "Renamed" && visited.room?.name == "b")

        // A room in use cannot be deleted.
        let room = try view.existingObject(Room.self, with: rooms[0])
        view.delete(room)
        let error = hornbeamError { try view.save() }
        #expect(error?.code == .deleteDenied && error?.objectIDs == [rooms[0]])
        view.rollback()
        #expect(!room.isDeleted && room.volumes.count == 4)

        // Two contexts increment concurrently.
        let popular = list.object(at: [1, 0])
        let id = popular.objectID
        popular.loans += 1
        try await container.performBackgroundTask { context in
            try context.existingObject(Volume.self, with: id).loans += 2
            try context.save()
        }
        try view.save()
        #expect(popular.loans == 3)

        // The changes since the token.
        let imported = try container.history.fetch(after: start, where: FetchPredicate(format: "author == 'import'")).get()
        // The batch changed the volumes of both rooms, too.
        #expect(imported.map(\.changeCount) == [2, 12])
        let later = try container.history.fetch(after: middle).get()
        #expect(later.map { $0.changes.map(\.updatedProperties) } == [[["volumes"], ["volumes"], ["room", "title"]], [["loans"]], [["loans"]]])
        try container.close()
    }
}
