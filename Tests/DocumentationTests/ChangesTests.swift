import Foundation
import Hornbeam
import Testing

/// The code of `Docs/Changes.md`.
@Suite @MainActor struct ChangesTests {
    @Entity final class Event: ManagedObject {
        var name: String = ""
        var longitude: Double = 0
        var magnitude: Double = 0
        var created: Date = .now
        var place: Place?
    }

    @Entity final class Place: ManagedObject {
        var name: String
        var events: Set<Event>
    }

    private struct Line { var name: String, place: String }

    private let container: PersistentContainer

    init() throws { container = try PersistentContainer.inMemory(for: Event.self, Place.self) }

    @Test func batchesChangeRows() throws {
        let context = container.viewContext
        let oslo = Place(in: context, name: "Oslo")
        try context.save()
        let placeIDs = ["Oslo": oslo.objectID]
        let lines = [Line(name: "a", place: "Oslo"), Line(name: "b", place: "Oslo")]
        let yesterday = Date.now.addingTimeInterval(-86_400)
        // snippet
        let insert = BatchInsertRequest(Event.self, from: lines) { line, row in
            row.set(Event.name, line.name)
            row.set(Event.longitude, 38)
            row.set(Event.created, .now)
            row.set(Event.place, placeIDs[line.place])
        }
        try context.execute(insert)

        var update = BatchUpdateRequest(Event.self, predicate: Event.longitude > 37)
        try update.set(Event.magnitude, to: FetchExpression(format: "magnitude + 1"))
        try context.execute(update)

        try context.execute(BatchDeleteRequest(Event.self, predicate: FetchPredicate(format: "created < %@", yesterday)))
        // end
        let events = try context.fetch(FetchRequest<Event>())
        #expect(events.map(\.magnitude) == [1, 1])
        #expect(oslo.events.count == 2)
    }

    @Test func controllerFollowsItsContext() throws {
        let context = container.viewContext
        // snippet
        let list = try FetchedResultsController(
            FetchRequest<Event>().sorted(by: "place.name").sorted(by: "name"), in: context, sectionedBy: "place.name")
        list.onChange = { changes in
            for change in changes.objects {
                switch change {
                case .insert(let event, let path): print("+", event.name, path)
                case .delete(let event, let path): print("-", event.name, path)
                case .move(let event, _, let path): print("→", event.name, path)
                case .update(let event, _, let path): print("~", event.name, path)
                }
            }
        }
        try list.performFetch()
        // end
        Event(in: context, name: "a", place: Place(in: context, name: "Oslo"))
        context.processPendingChanges()
        #expect(list.sections.map(\.name) == ["Oslo"] && list.fetchedObjects?.map(\.name) == ["a"])
    }

    @Test func resultsAreObserved() throws {
        let context = container.viewContext
        Event(in: context, name: "a", place: Place(in: context, name: "Oslo"))
        // snippet
        let events = FetchedResults(FetchRequest<Event>().sorted(by: \.place.name), in: container.viewContext, sectionedBy: \.place.name)
        let count = LiveValue(container.viewContext.liveCount(of: FetchRequest<Event>()))
        events.onChange = { changes in print(changes.objects.count, "changes") }
        print(events.sections.map(\.name), count.value ?? 0, events.fetchError == nil)
        // end
        Event(in: context, name: "b", place: Place(in: context, name: "Rome"))
        context.processPendingChanges()
        #expect(events.sections.map(\.name) == ["Oslo", "Rome"] && count.value == 2)
    }

    @Test func sequencesOfChangesEndWithTheirTask() async throws {
        let container = container
        // snippet
        let commits = Task {
            for await changes in container.changes() {       // every commit in the stores, from any context
                print(changes.inserted.count, changes.updated.count)
            }
        }
        let edits = Task { @MainActor in
            for await changes in container.viewContext.changes() {     // the changes in this context's memory, saved or not
                print(changes.inserted.count, changes.updated.count)
            }
        }
        // end
        try await container.write { context in _ = Event(in: context, name: "a") }
        commits.cancel()
        edits.cancel()
        await commits.value
        await edits.value
    }

    @Test func historyTellsWhatChanged() throws {
        let context = container.viewContext
        var token = try container.history.currentToken()
        var resyncs = 0
        func readAllAgain() { resyncs += 1 }
        try container.write { context in _ = Event(in: context, name: "a") }
        // snippet
        switch try container.history.fetch(after: token) {
        case .transactions(let transactions, let newest):
            for transaction in transactions { try context.mergeChanges(from: transaction) }   // or look at transaction.changes
            token = newest                                                                    // Codable: keep it for the next time
        case .resync(_, let newest):                                                          // history no longer contains these changes
            readAllAgain()
            token = newest
        }
        // end
        #expect(try resyncs == 0 && token == container.history.currentToken())
    }
}
