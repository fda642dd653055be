import Foundation
import Hornbeam
import Testing

/// Results of controllers after random changes: the old results with the changes are the new results, which equal those of a fetch.
@Suite struct TrackedResultsTests {
    /// The requests: local attributes, paths through relationships, limits, conditions on to-many relationships, sections of each kind.
    private static let requests: [(request: String?, sorts: [FetchSort], section: String?, limit: Int)] = [
        (nil, [FetchSort("name")], nil, 0),
        ("salary > 1", [FetchSort("salary", ascending: false), FetchSort("name")], "salary", 0),
        ("isActive == YES", [FetchSort("salary")], "isActive", 0),
        (nil, [FetchSort("department.name"), FetchSort("salary")], "department.name", 0),
        ("department.name != nil", [FetchSort("name", comparison: .localizedStandard)], nil, 0),
        (nil, [FetchSort("name")], "salary", 0),
        ("salary < 3", [FetchSort("salary"), FetchSort("name")], "salary", 5),
        ("friends.@count > 0", [FetchSort("name")], nil, 0),
        ("spouse != nil", [FetchSort("spouse.salary"), FetchSort("salary")], "spouse.salary", 0),
        ("department != nil", [FetchSort("salary")], nil, 0),
    ]

    /// A controller, with the rows that a view shows which follows its changes.
    private final class Follower {
        let controller: FetchedResultsController<Employee>
        private var rows: [(name: String, objects: [ManagedObjectID])] = []
        private(set) var failures: [String] = []
        private let number: Int

        init(_ number: Int, _ context: ManagedObjectContext, batch: Int) throws {
            self.number = number
            let (format, sorts, section, limit) = TrackedResultsTests.requests[number]
            var request = FetchRequest<Employee>(sortedBy: sorts).limit(limit).batches(of: batch)
            request.predicate = try format.map { try FetchPredicate(format: $0) }
            controller = try FetchedResultsController(request, in: context, sectionedBy: section)
            controller.onChange = { [weak self] in self?.follow($0) }
            try controller.performFetch()
            rows = controller.sections.map { ($0.name, $0.objects.map(\.objectID)) }
        }

        /// Applies changes like a table view: removals at old paths, then insertions at new paths.
        private func follow(_ changes: FetchedResultsChanges<Employee>) {
            if changes.isReload { return rows = controller.sections.map { ($0.name, $0.objects.map(\.objectID)) } }
            // The IDs of saved objects are permanent now.
            let identities = controller.sections.flatMap(\.objects)
            var removed: [IndexPath] = []
            var added: [(IndexPath, ManagedObjectID)] = []
            var stayed: [(IndexPath, IndexPath)] = []
            for change in changes.objects {
                switch change {
                case .delete(_, let path): removed.append(path)
                case .insert(let object, let path): added.append((path, object.objectID))
                case .move(let object, let from, let to):
                    removed.append(from)
                    added.append((to, object.objectID))
                case .update(let object, let from, let to):
                    stayed.append((from, to))
                    if controller.object(at: to) !== object { failures.append("the update of \(object.name) names the wrong path") }
                }
            }
            let old = rows
            for path in removed.sorted(by: >) { rows[path[0]].objects.remove(at: path[1]) }
            var sections = changes.insertedSections.map { (to: $0, section: (name: controller.sections[$0].name, objects: [ManagedObjectID]())) }
            sections += changes.movedSections.map { (to: $0.to, section: rows[$0.from]) }
            if changes.deletedSections.contains(where: { !rows[$0].objects.isEmpty }) { failures.append("a removed section has rows") }
            for section in (changes.deletedSections + changes.movedSections.map(\.from)).sorted(by: >) { rows.remove(at: section) }
            for (place, section) in sections.sorted(by: { $0.to < $1.to }) { rows.insert(section, at: place) }
            for (path, id) in added.sorted(by: { $0.0 < $1.0 }) { rows[path[0]].objects.insert(id, at: path[1]) }
            for (from, to) in stayed where old[from[0]].objects[from[1]].reference != rows[to[0]].objects[to[1]].reference {
                failures.append("an update has two objects")
            }
            if rows.map(\.name) != controller.sections.map(\.name) { failures.append("other sections: \(rows.map(\.name))") }
            if rows.map(\.objects.count) != controller.sections.map(\.count) { failures.append("other numbers of rows") }
            if zip(rows.flatMap(\.objects), identities).contains(where: { !$0.isTemporaryID && $0 != $1.objectID }) { failures.append("other rows") }
            rows = controller.sections.map { ($0.name, $0.objects.map(\.objectID)) }
        }

        /// The differences from a new fetch.
        func check(_ context: ManagedObjectContext, _ comment: Comment) throws {
            #expect(failures == [], comment)
            let expected = try context.fetch(controller.request)
            // Objects with equal section names are together, so the order of the fetch is compared by section.
            let names = controller.sections.flatMap { section in section.objects.map { ($0, section.name) } }
            let sectionOf = Dictionary(names.map { (ObjectIdentifier($0.0), $0.1) }) { first, _ in first }
            let grouped = controller.sections.flatMap { section in expected.filter { sectionOf[ObjectIdentifier($0)] == section.name } }
            #expect(controller.fetchedObjects?.count == expected.count, "\(comment), request \(number)")
            #expect(controller.fetchedObjects == grouped, "\(comment), request \(number)")
            guard let keyPath = controller.sectionKeyPath else { return }
            for section in controller.sections {
                for object in section.objects {
                    let value = try object.value(forKeyPath: keyPath)
                    let name = value.isNull ? "" : keyPath == "isActive" ? (object.isActive ? "1" : "0") : value.plainText
                    #expect(section.name == name, "\(comment), request \(number)")
                }
            }
        }
    }

    @Test(
        "FRC-8 … FRC-12, FRC-17, FET-5: old results and changes are the new results, and those of a fetch, with and without batches",
        arguments: Setting.contexts, UInt64(1) ... 3)
    func resultsAreThoseOfAFetch(setting: Setting, seed: UInt64) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        context.setMergePolicies(seed % 2 == 0 ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump)
        context.undoStack = UndoStack()
        var edits = RandomEdits(seed: seed)
        var generator = SeededGenerator(state: seed &* 31)
        for _ in 0 ..< 30 { _ = try edits.edit(context) }
        try context.saveToStore()
        let followers = try Self.requests.indices.flatMap { [try Follower($0, context, batch: 0), try Follower($0, context, batch: 3)] }
        var others = RandomEdits(seed: seed &+ 1000)
        var log: [String] = []
        for step in 0 ..< 60 {
            switch Int.random(in: 0 ..< 12, using: &generator) {
            case 0: context.undo()
            case 1: context.redo()
            case 2: context.rollback()
            case 3, 4:
                log.append("save")
                do { try context.saveToStore() } catch { context.rollback() }
            case 5, 6:
                log.append("others")
                let other = stack.newContext()
                for _ in 0 ..< 3 { log.append(try others.edit(other)) }
                try other.save()
                try context.mergeFromStore()
            default: log.append(try edits.edit(context))
            }
            context.processPendingChanges()
            guard setting.follows else { continue }
            for follower in followers { try follower.check(context, "seed \(seed), step \(step), \(setting): \(log.suffix(4))") }
        }
        // A context that does not merge the saves of others shows them after a refresh.
        for follower in followers { #expect(follower.failures == [], "seed \(seed), \(setting)") }
    }

    @Test("FRC-17, NOT-5: many changes of other contexts arrive as one change, with and without sections", arguments: [nil, "salary"], StoreKind.withOtherProcess)
    func manyChangesAreOneUpdate(section: String?, kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let writer = stack.newOtherContext()
        let employees = (0 ..< 2000).map { writer.employee("e\($0)", salary: $0 % 7) }
        try writer.save()
        let context = stack.newContext()
        let list = try FetchedResultsController(
            FetchRequest<Employee>().sorted(by: "salary").sorted(by: "name"), in: context, sectionedBy: section)
        var updates: [FetchedResultsChanges<Employee>] = []
        list.onChange = { updates.append($0) }
        try list.performFetch()
        for number in stride(from: 0, to: 2000, by: 10) { employees[number].salary = (number + 3) % 7 }
        for number in stride(from: 5, to: 2000, by: 100) { writer.delete(employees[number]) }
        for number in 0 ..< 20 { writer.employee("n\(number)", salary: number % 7) }
        try writer.save()
        try context.mergeChanges()
        #expect(updates.count == 1 && updates[0].objects.count >= 220)
        #expect(try list.fetchedObjects == context.fetch(list.request))
    }

    @Test("FRC-7: changes before the first closure, and while there is none, are part of the next update", arguments: Setting.contexts)
    func missedChangesAreMadeUpFor(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let employees = (0 ..< 4).map { context.employee("e\($0)") }
        try context.saveToStore()
        let list = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        try list.performFetch()
        context.delete(employees[0])
        context.processPendingChanges()
        list.onChange = { _ in }
        employees[1].name = "f"
        context.processPendingChanges()
        #expect(list.fetchedObjects?.map(\.name) == ["e2", "e3", "f"])
        list.onChange = nil
        context.delete(employees[2])
        context.processPendingChanges()
        list.onSnapshot = { _ in }
        employees[1].name = "g"
        context.processPendingChanges()
        #expect(list.fetchedObjects?.map(\.name) == ["e3", "g"])
    }
}

extension PropertyValue {
    /// The value as text, as in a section name.
    fileprivate var plainText: String {
        switch self {
        case .string(let text): text
        case .int(let number): "\(number)"
        default: description
        }
    }
}
