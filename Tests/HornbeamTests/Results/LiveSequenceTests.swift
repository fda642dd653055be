import Hornbeam
import Testing

/// Live results: the first value at once, then one element for the changes since.
@MainActor @Suite struct LiveSequenceTests {
    /// A context with three stored employees.
    private func context(_ setting: Setting, of stack: Stack? = nil) throws -> ManagedObjectContext {
        let context = setting.context(of: try stack ?? Company.stack(setting.kind))
        for number in 0 ..< 3 { context.employee("e\(number)", salary: number) }
        try context.saveToStore()
        if setting.isBusy { context.project("unrelated") }
        return context
    }

    private var byName: FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: \.name) }

    @Test(arguments: Setting.saved) func theFirstElementComesAtOnce(setting: Setting) async throws {
        let context = try context(setting)
        var names = context.results(of: byName).makeAsyncIterator()
        #expect(try await names.next(isolation: #isolation)?.map(\.name) == ["e0", "e1", "e2"])
    }

    @Test(arguments: Setting.saved) func changesBeforeTheNextStepComeAsOneElement(setting: Setting) async throws {
        let context = try context(setting)
        var results = context.results(of: byName).makeAsyncIterator()
        _ = try await results.next(isolation: #isolation)
        context.employee("e9")
        context.processPendingChanges()
        context.employee("e8")
        context.processPendingChanges()
        #expect(try await results.next(isolation: #isolation)?.map(\.name) == ["e0", "e1", "e2", "e8", "e9"])
    }

    @Test(arguments: Setting.saved) func anElementFollowsWhenAValueOfAResultChanges(setting: Setting) async throws {
        let context = try context(setting)
        var results = context.results(of: byName.where { $0.salary > 0 }).makeAsyncIterator()
        let first = try #require(try await results.next(isolation: #isolation))
        first[0].salary = 7
        context.processPendingChanges()
        #expect(try await results.next(isolation: #isolation)?.map(\.salary) == [7, 2])
    }

    @Test(arguments: Setting.saved) func changesOfOtherObjectsGiveNoElement(setting: Setting) async throws {
        let context = try context(setting)
        var counts = context.liveCount(of: byName.where { $0.salary > 0 }).makeAsyncIterator()
        #expect(try await counts.next(isolation: #isolation) == 2)
        context.department("Sales")
        context.processPendingChanges()
        context.employee("e9", salary: 9)
        context.processPendingChanges()
        #expect(try await counts.next(isolation: #isolation) == 3)
    }

    @Test(arguments: Setting.saved) func groupsAndTotalsAreLive(setting: Setting) async throws {
        let context = try context(setting)
        var totals = context.results(of: Employee.select(\.count, \.salary.sum)).makeAsyncIterator()
        #expect(try await totals.next(isolation: #isolation).map { $0.map(\.1) } == [3])
        context.employee("e9", salary: 10)
        context.processPendingChanges()
        let rows = try await totals.next(isolation: #isolation)
        #expect(rows?.map(\.0) == [4])
        #expect(rows?.map(\.1) == [13])
    }

    @Test(arguments: Setting.saved) func eachIteratorOfASelectionBeginsWithTheRows(setting: Setting) async throws {
        let context = try context(setting)
        let totals = context.results(of: Employee.select(\.count, \.salary.sum))
        for _ in 0 ..< 2 {
            var rows = totals.makeAsyncIterator()
            #expect(try await rows.next(isolation: #isolation).map { $0.map(\.1) } == [3])
        }
    }

    @Test(arguments: Setting.saved.filter(\.follows)) func savesOfOthersArrive(setting: Setting) async throws {
        let stack = try Company.stack(setting.kind)
        let context = try context(setting, of: stack)
        var counts = context.liveCount(of: byName).makeAsyncIterator()
        #expect(try await counts.next(isolation: #isolation) == 3)
        let other = stack.newContext()
        other.employee("e9")
        try other.save()
        try context.mergeChanges()
        #expect(try await counts.next(isolation: #isolation) == 4)
    }

    @Test(arguments: Setting.contested, Setting.policies.indices)
    func changesOfBothSidesArriveAsThePolicyDecides(setting: Setting, policy: Int) async throws {
        let stack = try Company.stack(setting.kind)
        let context = try context(setting, of: stack)
        context.setMergePolicies(Setting.policies[policy].policy)
        var results = context.results(of: byName).makeAsyncIterator()
        let first = try #require(try await results.next(isolation: #isolation))
        first[0].salary = 50
        try setting.contest(stack) { try $0.existingObject(Employee.self, with: first[0].objectID).salary = 70 }
        try context.saveToStore()
        try context.mergeFromStore()
        let salary = setting.isContested && !Setting.policies[policy].mineHolds ? 70 : 50
        let shown = setting.keepsWhatItHas ? 50 : salary
        #expect(try await results.next(isolation: #isolation)?.map(\.salary) == [shown, 1, 2])
        #expect(try stack.newContext().fetch(byName).map(\.salary) == [salary, 1, 2])
    }

    @Test(arguments: Setting.saved) func cancellingTheTaskEndsTheSequence(setting: Setting) async throws {
        let context = try context(setting)
        let task = Task { @MainActor in
            var elements = 0
            for try await _ in context.results(of: byName) { elements += 1 }
            return elements
        }
        await Task.yield()
        task.cancel()
        #expect(try await task.value <= 1)
    }

    @Test(arguments: Setting.saved) func aCountOfDictionariesIsTheNumberOfGroups(setting: Setting) async throws {
        let context = try context(setting)
        var request = FetchRequest<Employee>()
        request.resultType = .dictionaries
        request.propertiesToFetch = ["salary", .count(as: "count")]
        request.propertiesToGroupBy = ["salary"]
        var counts = context.liveCount(of: request).makeAsyncIterator()
        #expect(try await counts.next(isolation: #isolation) == 3)
        // The group of salary 2 has another object, and then there is another group, twice.
        context.employee("e8", salary: 2)
        context.processPendingChanges()
        for salary in [9, 10] {
            context.employee("e\(salary)", salary: salary)
            context.processPendingChanges()
            #expect(try await counts.next(isolation: #isolation) == (salary == 9 ? 4 : 5))
        }
    }

    @Test(arguments: Setting.saved) func aSelectionWithAChangedRequestHasItsColumns(setting: Setting) async throws {
        let context = try context(setting)
        var selection = Employee.select(\.salary.max, \.salary.min)
        selection.untyped.resultType = .objects
        selection.untyped.propertiesToFetch.removeLast()
        let rows = try context.fetch(selection)
        #expect(rows.map(\.0) == [2] && rows.map(\.1) == [nil])
        var live = context.results(of: selection).makeAsyncIterator()
        #expect(try await live.next(isolation: #isolation)?.map(\.0) == [2])
    }

    @Test(arguments: Setting.saved) func anErrorEndsTheSequence(setting: Setting) async throws {
        let context = try context(setting)
        var results = context.results(of: FetchRequest<Employee>().sorted(by: "nmae")).makeAsyncIterator()
        do {
            _ = try await results.next(isolation: #isolation)
            Issue.record("An unknown key is no error.")
        } catch {
            #expect((error as? HornbeamError)?.code == .predicateInvalid || (error as? HornbeamError)?.code == .unknownKey)
        }
        #expect(try await results.next(isolation: #isolation) == nil)
    }
}
