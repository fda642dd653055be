import Foundation
import Hornbeam
import HornbeamLists
import Testing

/// Lists with a batch size create the objects of the rows that are shown.
@Suite struct BatchedResultsTests {
    private static let count = 20_000
    private var request: FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: "salary").sorted(by: "name").batches(of: 20) }

    /// A store with rows that no context has read.
    private func stack(_ kind: StoreKind, _ count: Int = Self.count) throws -> Stack {
        let stack = try Company.stack(kind)
        try stack.newContext().execute(BatchInsertRequest(Employee.self, from: 0 ..< count) { number, row in
            row.set(Employee.name, "e\(100_000 + number)")
            row.set(Employee.salary, number / (count / 4))
        })
        return stack
    }

    @Test("FET-5, FRC-3, SEED-10: a list of 20,000 rows creates 40 objects to show 40 rows, in sections too", arguments: [nil, "salary"], StoreKind.allCases)
    func fewObjectsAreCreated(section: String?, kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let screen = TerminalScreen(width: 20, height: 40)
        let source = try ListDataSource(request, in: context, sectionedBy: section, view: screen.list) { $0.text = $1.name }
        try source.startVending()
        let titles = section == nil ? 0 : 1
        #expect(screen.lines.count == 40 && screen.lines[titles] == "e100000" && screen.lines[39] == "e1000\(39 - titles)")
        #expect(context.registeredObjects.count == 40)
        #expect(source.results.sections.map(\.count) == (section == nil ? [Self.count] : Array(repeating: Self.count / 4, count: 4)))
        // Scrolling releases the objects of earlier rows.
        for line in stride(from: 0, to: 19_000, by: 1000) { screen.list.firstLine = line }
        #expect(context.registeredObjects.count <= 80)
        #expect(source.results.object(at: [section == nil ? 0 : 3, 4999]).name == (section == nil ? "e104999" : "e119999"))
        #expect(source.results.snapshot.objectIDs.count == Self.count && context.registeredObjects.count <= 100)
    }

    @Test("FET-5, FRC-3: the key of the sections may have any name", arguments: StoreKind.allCases)
    func sectionsByAnyName(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Table") { Attribute<Int>("rows") } }
        let context = try Stack(kind, model).newContext()
        for rows in [1, 1, 2] { try context.insert(entityNamed: "Table").setValue(rows, forKey: "rows") }
        try context.save()
        let request = FetchRequest<ManagedObject>(entityName: "Table").sorted(by: "rows").batches(of: 2)
        let controller = try FetchedResultsController(request, in: context, sectionedBy: "rows")
        try controller.performFetch()
        #expect(controller.sections.map(\.name) == ["1", "2"] && controller.sections.map(\.count) == [2, 1])
    }

    @Test("FRC-10, FRC-12: rows whose objects do not exist are shown again after changes of others", arguments: StoreKind.allCases)
    func rowsWithoutObjectsAreUpToDate(kind: StoreKind) throws {
        let stack = try stack(kind, 200)
        let context = stack.newContext()
        let view = RecordingList()
        let source = try ListDataSource(request, in: context, view: view) { $0.text = $1.name }
        try source.startVending()
        let writer = stack.newContext()
        let first = try #require(try writer.fetch(request).first)
        view.removeCalls()
        first.name = "f"
        try writer.save()
        try context.mergeChanges()
        #expect(view.calls == ["reload"] && view.isConsistent && view.rows.sections[0].rows.map(\.text).contains("f"))
        // A new row is listed by the merge, so it is inserted alone.
        writer.employee("e1", salary: -1)
        try writer.save()
        view.removeCalls()
        try context.mergeChanges()
        #expect(view.calls == ["begin", "insert row 0.0", "end"] && view.isConsistent)
        // Another entity does not affect the list.
        writer.department("Sales")
        try writer.save()
        view.removeCalls()
        try context.mergeChanges()
        #expect(view.calls == [])
    }

    @Test("FRC-17: unsaved rows, their save and their removal are rows of a list in batches", arguments: Setting.contexts.filter(\.follows))
    func unsavedRows(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind, 100))
        let view = RecordingList()
        let source = try ListDataSource(request, in: context, sectionedBy: "salary", view: view) { $0.text = $1.name }
        try source.startVending()
        let new = context.employee("a", salary: 2)
        context.processPendingChanges()
        #expect(source.results.indexPath(for: new) == [2, 0] && view.rows[[2, 0]].text == "a" && view.isConsistent)
        try context.saveToStore()
        #expect(source.results.indexPath(for: new) == [2, 0] && source.results.object(at: [2, 0]) === new && view.isConsistent)
        new.salary = 0
        context.processPendingChanges()
        #expect(source.results.indexPath(for: new) == [0, 0] && view.isConsistent)
        source.selectRow(at: [0, 0])
        context.delete(new)
        context.processPendingChanges()
        #expect(source.selectedObject == nil && view.isConsistent && view.rows[[0, 0]].text == "e100000")
    }

    @Test("FRC-9: more than 1,000 changes of a list in batches are one reload") func manyChangesAreAReload() throws {
        let context = try stack(.inMemory, 100).newContext()
        let list = try FetchedResultsController(request, in: context)
        var changes: [FetchedResultsChanges<Employee>] = []
        list.onChange = { changes.append($0) }
        try list.performFetch()
        for number in 0 ..< 1000 { context.employee("n\(number)") }
        context.processPendingChanges()
        for number in 0 ..< 1001 { context.employee("m\(number)") }
        context.processPendingChanges()
        #expect(changes.map(\.isReload) == [false, true] && changes.map(\.objects.count) == [1000, 0])
        #expect(try list.fetchedObjects == context.fetch(request))
    }

    @Test("FRC-4: a batch size has no effect with sections that are not those of the first sort, or with a limit")
    func otherSectionsNeedTheObjects() throws {
        let context = try stack(.inMemory, 100).newContext()
        for (request, section) in [(request, "name"), (request.limit(50), "salary")] {
            let list = try FetchedResultsController(request, in: context, sectionedBy: section)
            try list.performFetch()
            #expect(list.fetchedObjects?.count == (section == "name" ? 100 : 50) && list.sections.reduce(0) { $0 + $1.count } == list.fetchedObjects?.count)
        }
    }

    @Test("FRC-16: a row of a list in batches that the user moves is only reloaded") func movesByTheUser() throws {
        let context = try stack(.inMemory, 100).newContext()
        let view = RecordingList()
        let source = try ListDataSource(request, in: context, sectionedBy: "salary", view: view) { $0.text = $1.name }
        try source.startVending()
        view.removeCalls()
        view.dragRow(from: [0, 0], to: [3, 0])
        source.moveRowByUser(from: [0, 0], to: [3, 0]) { $0.salary = 3 }
        #expect(view.calls == ["begin", "reload row 3.0, now 3.0", "end"] && view.isConsistent)
    }

    @Test("FRC-15: after the removal of a store, and after a reset, a list in batches shows the remaining rows") func removedStores() throws {
        let stack = try stack(.inMemory, 40)
        let coordinator = stack.container.persistentStoreCoordinator
        let second = try coordinator.addPersistentStore(.inMemory())
        let context = stack.newContext()
        try context.assign(context.employee("a", salary: -1), to: second)
        try context.save()
        context.reset()
        let view = RecordingList()
        let source = try ListDataSource(request, in: context, view: view) { $0.text = $1.name }
        try source.startVending()
        #expect(view.rows[[0, 0]].text == "a" && view.contents?.rowCount == 41)
        try coordinator.remove(second)
        try context.mergeChanges()
        #expect(view.rows[[0, 0]].text == "e100000" && view.contents?.rowCount == 40 && view.isConsistent)
        context.reset()
        #expect(view.contents?.rowCount == 40 && view.isConsistent && source.fetchError == nil)
    }
}
