import Foundation
import Hornbeam
import Testing

/// Objects visited one after the other, without a list of all of them.
@Suite struct ForEachTests {
    private struct Enough: Error {}

    /// More rows than the store scans at once.
    private static let many = 30_000

    private func stack(_ kind: StoreKind, count: Int) throws -> Stack {
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        for number in 0..<count {
            let employee = maker.employee("e\(number + 100_000)", salary: number)
            employee.isActive = number % 3 == 0
        }
        try maker.save()
        return stack
    }

    private func requests() throws -> [(title: Comment, request: FetchRequest<Employee>)] {
        let all = FetchRequest<Employee>()
        return [
            ("all", all), ("few", try all.where("salary == 7")), ("a third", try all.where("isActive == true")), ("none", try all.where("salary < 0")),
            ("sorted", all.sorted(by: "name", ascending: false)), ("limited", all.limit(10)), ("from an offset", all.offset(3)),
            ("small batches", all.batches(of: 7)), ("through a relationship", try all.where("department.name == nil")),
        ]
    }

    private func visited(_ request: FetchRequest<Employee>, in context: ManagedObjectContext) throws -> [ManagedObjectID] {
        var visited: [ManagedObjectID] = []
        try context.forEach(request) { visited.append($0.objectID) }
        return visited
    }

    @Test("FET-5: forEach visits the results of fetch, in their order", arguments: Setting.contexts, [0, 1, 40])
    func visitsResults(setting: Setting, count: Int) throws {
        let stack = try stack(setting.kind, count: count)
        let context = setting.context(of: stack)
        for (title, request) in try requests() {
            #expect(try visited(request, in: context) == context.fetch(request).map(\.objectID), title)
        }
        // New, changed and deleted objects.
        context.employee("e100003b", salary: 7)
        let some = try context.fetch(FetchRequest<Employee>().limit(2))
        some.first?.salary = -1
        some.last.map(context.delete)
        for (title, request) in try requests() {
            #expect(try visited(request, in: context) == context.fetch(request).map(\.objectID), title)
        }
    }

    @Test("FET-5: forEach over more rows than are scanned at once visits each result once", arguments: StoreKind.own)
    func visitsManyResults(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        for (title, request) in try requests() {
            #expect(try visited(request, in: context) == context.fetchIDs(request), title)
        }
        var salaries = 0
        let before = context.fetchCounters
        try context.forEach(FetchRequest<Employee>()) { salaries += $0.salary }
        #expect(salaries == (0..<Self.many).reduce(0, +))
        #expect(context.fetchCounters.fetches == before.fetches + 1 && context.fetchCounters.rowsRead == before.rowsRead + Self.many)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach holds one object, or those of one batch", arguments: StoreKind.own)
    func holdsOneObjectOrBatch(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        for (request, most) in [(FetchRequest<Employee>(), 1), (FetchRequest<Employee>().batches(of: 50), 50), (FetchRequest<Employee>().batches(of: 2000), 2000)] {
            var largest = 0
            var number = 0
            try context.forEach(request) { _ in
                number += 1
                largest = max(largest, context.registeredCount)
            }
            #expect(number == Self.many && largest == most && context.registeredCount == 0)
        }
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach makes batches while its closure follows a relationship, so that the destinations of neighbours are read together", arguments: StoreKind.own)
    func readsDestinationsAhead(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let maker = stack.newContext()
        let departments = (0..<3_000).map { maker.department("d\($0)") }
        for (number, employee) in try maker.fetch(FetchRequest<Employee>().sorted(by: "name")).enumerated() { employee.department = departments[number / 10] }
        try maker.save()
        let context = stack.newContext()
        var (names, largest) = (0, 0)
        try context.forEach(FetchRequest<Employee>()) {
            if $0.department?.name != nil { names += 1 }
            largest = max(largest, context.registeredCount)
        }
        #expect(names == Self.many && largest > 100)
        // The first steps predict nothing. Then a department of each group of neighbours is a step, and the others are located with it.
        #expect(context.rowsLookedUp < departments.count / 4)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach locates the rows of its results together", arguments: StoreKind.own)
    func locatesRows(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        for (title, request) in try requests() {
            try context.forEach(request) { #expect($0.salary >= 0) }
            #expect(context.rowsLookedUp == 0, title)
        }
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach keeps objects that are in use, and few others that its closure looks up", arguments: StoreKind.own)
    func keepsObjectsInUse(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        var kept: [Employee] = []
        var number = 0
        try context.forEach(FetchRequest<Employee>()) { employee in
            number += 1
            if number % 5_000 == 1 { kept.append(employee) }
            if number % 5_000 == 2 { employee.salary += 1 }
            if number % 5_000 == 3 { try context.forEach(FetchRequest<Employee>().where("salary < 10")) { #expect($0.salary < 11) } }
            _ = try context.object(with: #require(kept.first).objectID)
        }
        let changed = context.updatedObjects
        #expect(kept.count == changed.count && kept.count == (Self.many + 4_999) / 5_000)
        #expect(context.registeredCount <= 2 * (kept.count + changed.count) + 512)
        for employee in kept { #expect(try context.existingObject(with: employee.objectID) === employee) }
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach calls the closures of a predicate on the calling thread", arguments: StoreKind.own)
    func blocksRunOnTheCallingThread(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        let caller = ObjectIdentifier(Thread.current)
        let ends: [PropertyValue] = [0, .int(Int64(Self.many - 1))]
        let block = FetchPredicate.block { object, _ in
            guard ObjectIdentifier(Thread.current) == caller, case .object(let employee) = object else { throw Enough() }
            return try employee.evaluatedValue(forKey: "salary").propertyValue.map(ends.contains) ?? false
        }
        var salaries: [Int] = []
        try context.forEach(FetchRequest<Employee>().where(block)) { salaries.append($0.salary) }
        #expect(salaries == [0, Self.many - 1])
        withExtendedLifetime(stack) {}
    }

    @Test("an error of the closure ends forEach", arguments: StoreKind.own, [1, 1_500, 20_000])
    func errorsEndTheVisit(kind: StoreKind, last: Int) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        var visits = 0
        #expect(throws: Enough.self) {
            try context.forEach(FetchRequest<Employee>()) { _ in
                visits += 1
                if visits == last { throw Enough() }
            }
        }
        #expect(visits == last)
        #expect(try context.count(FetchRequest<Employee>()) == Self.many)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach visits the objects that it began with, while the closure saves", arguments: StoreKind.own)
    func closureSaves(kind: StoreKind) throws {
        let stack = try stack(kind, count: Self.many)
        let context = stack.newContext()
        var names: [String] = []
        try context.forEach(FetchRequest<Employee>()) { employee in
            names.append(employee.name)
            guard names.count % 4_000 == 1 else { return }
            context.employee("new\(names.count)")
            employee.name += "!"
            try context.save()
        }
        #expect(names == (0..<Self.many).map { "e\($0 + 100_000)" })
        #expect(try context.count(FetchRequest<Employee>()) == Self.many + 8)
        #expect(try context.count(FetchRequest<Employee>().where("name ENDSWITH '!'")) == 8)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach visits all results after some were deleted and saved meanwhile", arguments: StoreKind.own, [false, true])
    func resultsAreDeleted(kind: StoreKind, byAnotherContext: Bool) throws {
        let count = 3_000
        let stack = try stack(kind, count: count)
        let context = stack.newContext()
        let all = FetchRequest<Employee>()
        let results = try context.fetchIDs(all)
        let other = stack.newContext()
        var visited: [ManagedObjectID] = []
        var sum = 0
        try context.forEach(all) { employee in
            if visited.isEmpty {
                let deleting = byAnotherContext ? other : context
                try deleting.fetch(all.where("salary >= 1000")).forEach(deleting.delete)
                try deleting.save()
                #expect(try context.count(all) == 1000)
            }
            visited.append(employee.objectID)
            if employee.salary < 1000 { sum += employee.salary }
        }
        #expect(visited == results)
        #expect(sum == (0..<1000).reduce(0, +))
        #expect(try context.fetchIDs(all).count == 1000)
        withExtendedLifetime(stack) {}
    }

    @Test("FET-5: forEach visits the remaining results after the closure has reset the context", arguments: Setting.contexts)
    func closureResets(setting: Setting) throws {
        let stack = try stack(setting.kind, count: 40)
        let context = setting.context(of: stack)
        func visited(_ request: FetchRequest<Employee>) throws -> [String] {
            var visited: [String] = []
            try context.forEach(request) { employee in
                visited.append("\(employee.name) \(employee.salary)")
                #expect(employee.managedObjectContext === context)
                if visited.count % 3 == 1 { context.reset() }
            }
            return visited
        }
        for (title, request) in try requests() {
            let expected = try context.fetch(request).map { "\($0.name) \($0.salary)" }
            #expect(try visited(request) == expected, title)
        }
        // The reset also discards unsaved changes.
        let stored = try context.fetch(FetchRequest<Employee>()).map { "\($0.name) \($0.salary)" }
        for employee in try context.fetch(FetchRequest<Employee>().limit(2)) { employee.salary = -1 }
        #expect(try visited(FetchRequest<Employee>()) == ["e100000 -1"] + stored.dropFirst())
    }

    @Test("forEach throws the error of a page that cannot be read, after the objects before it")
    func damagedPageThrows() throws {
        let stack = try stack(.onDisk, count: Self.many)
        try stack.container.close()
        let pages = try FileManager.default.contentsOfDirectory(at: stack.url, includingPropertiesForKeys: [.fileSizeKey])
            .filter { $0.lastPathComponent.hasPrefix("pages-") }
        let largest = try #require(pages.max { try! Data(contentsOf: $0).count < Data(contentsOf: $1).count })
        let intact = try Data(contentsOf: largest)
        var failures = 0
        for tenth in 4..<9 {
            var bytes = intact
            for offset in 0..<64 { bytes[intact.count * tenth / 10 + offset] ^= 0xFF }
            try bytes.write(to: largest)
            let container = try stack.reopened()
            let context = container.newContext()
            var visits = 0
            let error = hornbeamError { try context.forEach(FetchRequest<Employee>()) { _ in visits += 1 } }
            let expected = hornbeamError { _ = try context.fetch(FetchRequest<Employee>()) }
            #expect(error?.code == expected?.code)
            if error?.code == .damaged {
                failures += 1
                #expect(visits < Self.many)
            } else {
                #expect(visits == Self.many)
            }
            try container.close()
        }
        #expect(failures > 0)
    }

    @Test("forEach over another class, of dictionaries or of an unknown entity throws the errors of fetch")
    func errorsOfRequests() throws {
        let stack = try stack(.inMemory, count: 1)
        let context = stack.newContext()
        let department = FetchRequest<Department>(entityName: "Employee")
        #expect(hornbeamError { try context.forEach(department) { _ in } }?.code == .unboundClass)
        #expect(hornbeamError { try context.forEach(FetchRequest<Employee>(entityName: "Nothing")) { _ in } }?.code == .unknownEntity)
    }
}
