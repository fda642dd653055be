import Hornbeam
import Testing

/// Live results: the first value at once, then one element for the changes since.
@MainActor @Suite struct LiveSequenceTests {
    private let stack: Stack
    private let context: ManagedObjectContext

    init() throws {
        stack = try Company.stack(.inMemory)
        context = stack.newContext()
        for number in 0 ..< 3 { context.employee("e\(number)", salary: number) }
        try context.save()
    }

    private var byName: FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: \.name) }

    @Test func theFirstElementComesAtOnce() async throws {
        var names = context.results(of: byName).makeAsyncIterator()
        #expect(try await names.next(isolation: #isolation)?.map(\.name) == ["e0", "e1", "e2"])
    }

    @Test func changesBeforeTheNextStepComeAsOneElement() async throws {
        var results = context.results(of: byName).makeAsyncIterator()
        _ = try await results.next(isolation: #isolation)
        context.employee("e9")
        context.processPendingChanges()
        context.employee("e8")
        context.processPendingChanges()
        #expect(try await results.next(isolation: #isolation)?.map(\.name) == ["e0", "e1", "e2", "e8", "e9"])
    }

    @Test func anElementFollowsWhenAValueOfAResultChanges() async throws {
        var results = context.results(of: byName.where { $0.salary > 0 }).makeAsyncIterator()
        let first = try #require(try await results.next(isolation: #isolation))
        first[0].salary = 7
        context.processPendingChanges()
        #expect(try await results.next(isolation: #isolation)?.map(\.salary) == [7, 2])
    }

    @Test func changesOfOtherObjectsGiveNoElement() async throws {
        var counts = context.liveCount(of: byName.where { $0.salary > 0 }).makeAsyncIterator()
        #expect(try await counts.next(isolation: #isolation) == 2)
        context.department("Sales")
        context.processPendingChanges()
        context.employee("e9", salary: 9)
        context.processPendingChanges()
        #expect(try await counts.next(isolation: #isolation) == 3)
    }

    @Test func groupsAndTotalsAreLive() async throws {
        var totals = context.results(of: Employee.select(\.count, \.salary.sum)).makeAsyncIterator()
        #expect(try await totals.next(isolation: #isolation).map { $0.map(\.1) } == [3])
        context.employee("e9", salary: 10)
        context.processPendingChanges()
        let rows = try await totals.next(isolation: #isolation)
        #expect(rows?.map(\.0) == [4])
        #expect(rows?.map(\.1) == [13])
    }

    @Test func eachIteratorOfASelectionBeginsWithTheRows() async throws {
        let totals = context.results(of: Employee.select(\.count, \.salary.sum))
        for _ in 0 ..< 2 {
            var rows = totals.makeAsyncIterator()
            #expect(try await rows.next(isolation: #isolation).map { $0.map(\.1) } == [3])
        }
    }

    @Test func savesOfOthersArrive() async throws {
        var counts = context.liveCount(of: byName).makeAsyncIterator()
        #expect(try await counts.next(isolation: #isolation) == 3)
        let other = stack.newContext()
        other.employee("e9")
        try other.save()
        try context.mergeChanges()
        #expect(try await counts.next(isolation: #isolation) == 4)
    }

    @Test func cancellingTheTaskEndsTheSequence() async throws {
        let task = Task { @MainActor in
            var elements = 0
            for try await _ in context.results(of: byName) { elements += 1 }
            return elements
        }
        await Task.yield()
        task.cancel()
        #expect(try await task.value <= 1)
    }

    @Test func anErrorEndsTheSequence() async throws {
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
