import Foundation
import HornbeamModel
import HornbeamStore
import Testing

@testable import Hornbeam

/// The parts of a context, each alone.
@Suite("Parts of a context") struct ContextPartsTests {
    // MARK: ReadState

    @Test("the identity of a read state names its snapshot and no other")
    func markNamesTheSnapshot() throws {
        let stack = try Company.stack(.inMemory)
        let context = stack.newContext()
        let first = try stack.container.persistentStoreCoordinator.stack.snapshot()
        _ = context.employee("a")
        try context.save()
        let second = try stack.container.persistentStoreCoordinator.stack.snapshot()

        var reading = ReadState()
        #expect(reading.snapshot == nil && reading.identity == nil)
        let toFirst = reading.move(to: first)
        #expect(toFirst)
        let toSame = reading.move(to: first)
        #expect(!toSame)
        #expect(reading.identity == ReadState.SnapshotIdentity(first))
        reading.isPinned = true
        let toSecond = reading.move(to: second)
        #expect(toSecond)
        #expect(reading.isPinned, "a move is not an unpinning")
        #expect(reading.identity == ReadState.SnapshotIdentity(second) && reading.identity != ReadState.SnapshotIdentity(first))
        let toNothing = reading.move(to: nil)
        #expect(toNothing)
        #expect(reading.snapshot == nil && reading.identity == nil)
    }

    // MARK: ChangeTracker

    @Test("a tracker holds each changed object once, and reports its first change in an event")
    func trackerNotesEachObjectOnce() throws {
        let context = try Company.stack(.inMemory).newContext()
        let objects = ["a", "b"].map { context.employee($0) }
        context.processPendingChanges()
        for object in objects { object.state.remove([.tracked, .touched, .changedSinceWillSave]) }

        var tracker = ChangeTracker()
        let nothing = tracker.takeEvent()
        #expect(nothing == nil)
        let isFirst = tracker.recordChange(of: objects[0], isNew: false)
        #expect(isFirst)
        let isFirstAgain = tracker.recordChange(of: objects[0], isNew: false)
        #expect(!isFirstAgain)
        let isFirstOfOther = tracker.recordChange(of: objects[1], isNew: true)
        #expect(!isFirstOfOther)
        #expect(tracker.objects.all == objects)
        #expect(tracker.edits == 3)
        let taken = tracker.takeEvent()
        let event = try #require(taken)
        #expect(event.touched.map(\.object) == objects)
        #expect(event.new == [ObjectIdentifier(objects[1])])
        let emptied = tracker.takeEvent()
        #expect(emptied == nil)
        for object in objects { object.state.remove(.touched) }
        let beginsNext = tracker.recordChange(of: objects[1], isNew: false)
        #expect(beginsNext, "the next event begins")
        tracker.upserted.insert(ObjectIdentifier(objects[0]))
        tracker.forget()
        let rest = tracker.takeEvent()
        #expect(tracker.objects.isEmpty && rest == nil && tracker.upserted.isEmpty)
        #expect(tracker.edits == 5, "edits only grow")
    }

    // MARK: ScopeTable

    @Test("a scope table finds scopes by position and by the store identity of an ID, and removes only those of new objects")
    func tableFindsScopes() throws {
        let context = try Company.stack(.inMemory).newContext()
        let employee = context.employee("a")
        let department = context.department("d")
        let (first, second) = (employee.scope, department.scope)

        var table = ScopeTable()
        #expect(table[0] == nil && table.ofNewObjects(at: 9) == nil && table.withoutStore(at: 3) == nil)
        table.addScope(first, at: 5)
        table.addScope(second, at: 2)
        table.addScopeForNewObjects(second, at: 1)
        #expect(table[5] === first && table[2] === second && table[4] == nil && table[99] == nil)
        #expect(table.ofNewObjects(at: 1) === second)
        for _ in 0 ..< 2 {
            let (ofFirst, ofSecond) = (table.scope(ofIDsFrom: first.origin), table.scope(ofIDsFrom: second.origin))
            #expect(ofFirst?.takeUnretainedValue() === first)
            #expect(ofSecond?.takeUnretainedValue() === second)
        }
        let unknown = table.scope(ofIDsFrom: .init(entityName: "Employee", storeIdentifier: nil, entityNumber: 99))
        #expect(unknown == nil)
        var seen: [EntityScope] = []
        table.forEach { seen.append($0) }
        #expect(Set(seen) == [first, second])
        (first.faultsFired, second.faultsFired) = (3, 4)
        #expect(table.faultsFired == 7)
        table.removeScopesOfNewObjects()
        #expect(table.ofNewObjects(at: 1) == nil && table[5] === first)
    }

    // MARK: MergeState

    @Test("the report of a save includes the merges before it, and the next save starts a new report")
    func mergesBelongToTheNextSave() throws {
        let stack = try Company.stack(.inMemory)
        let context = stack.newContext()
        let id = context.employee("a").objectID
        var merging = MergeState(context.merging.changeQueue)
        merging.report.rebased.insert(id)
        #expect(merging.lastReport.isEmpty)
        merging.finishReport()
        #expect(merging.lastReport.rebased == [id] && merging.report.isEmpty)
        merging.finishReport()
        #expect(merging.lastReport.isEmpty)
    }

    // MARK: Observers and children

    @Test("observers that return false are not called again, and those added during a notification are called the next time")
    func listenersLeave() throws {
        let context = try Company.stack(.inMemory).newContext()
        var reported: [String] = []
        context.observers.listeners.append { _ in
            reported.append("once")
            context.observers.listeners.append { _ in
                reported.append("later")
                return true
            }
            return false
        }
        #expect(!context.observers.isEmpty)
        context.employee("a").name = "b"
        context.processPendingChanges()
        #expect(reported == ["once"])
        context.employee("c").name = "d"
        context.processPendingChanges()
        #expect(reported == ["once", "later"])
    }

    @Test("changes that a listener makes reach all listeners, after the changes that it received")
    func nestedChangesAreDelivered() throws {
        let context = try Company.stack(.inMemory).newContext()
        let (first, second) = (context.employee("a"), context.employee("b"))
        context.processPendingChanges()
        var reported: [String] = []
        func name(_ event: ContextEvent) -> String { event.changes.updated.contains(second.objectID) ? "second" : "first" }
        context.observers.listeners.append { event in
            reported.append("one: \(name(event))")
            if name(event) == "first" {
                second.name = "c"
                context.processPendingChanges()
            }
            return true
        }
        context.observers.listeners.append { event in
            reported.append("two: \(name(event))")
            return true
        }
        first.name = "d"
        context.processPendingChanges()
        #expect(reported == ["one: first", "two: first", "one: second", "two: second"])
        #expect(!context.observers.isNotifying && context.observers.queue.isEmpty)
    }

    @Test("user info can be changed by a value that another setting gives")
    func userInfoReadsOtherSettings() throws {
        let context = try Company.stack(.inMemory).newContext()
        context.name = "import"
        context.userInfo["name", default: .string(context.name ?? "")] = .string((context.name ?? "") + "er")
        context.userInfo.merge(["policy": .string("\(context.mergePolicy)")]) { _, new in context.name == nil ? .null : new }
        #expect(context.userInfo["name"] == "importer" && context.userInfo.count == 2)
    }

    @Test("a child that is released leaves the family when the next one comes")
    func familyKeepsNoReleasedChild() throws {
        let parent = try Company.stack(.inMemory).newContext()
        do { _ = parent.newChildContext() }
        let second = parent.newChildContext()
        #expect(parent.family.children.count == 1)
        #expect(parent.family.children[0].context === second)
        #expect(second.family.parentEditsSeen == parent.edits)
    }
}
