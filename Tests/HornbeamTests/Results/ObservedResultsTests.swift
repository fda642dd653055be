import Foundation
import Hornbeam
import Observation
import Testing

/// Results and values that views observe.
@MainActor @Suite struct ObservedResultsTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try Company.stack(.inMemory).container
        context = container.viewContext
        for number in 0 ..< 3 { context.employee("e\(number)", salary: number) }
        try context.save()
    }

    private var byName: FetchRequest<Employee> { FetchRequest<Employee>().sorted(by: \.name) }

    /// Ends turns of the main actor until a condition holds, for a minute at most.
    private func wait(until condition: () -> Bool) async {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(), ContinuousClock.now < end { await Task.yield() }
    }

    /// True if an observer of the properties that the body reads is notified.
    private final class Observer: @unchecked Sendable {  // used on the main actor
        private(set) var count = 0
        func note() { count += 1 }
    }

    private func observer(of read: () -> Void) -> Observer {
        let observer = Observer()
        withObservationTracking(read) { observer.note() }
        return observer
    }

    @Test("SWD-18: the results are available at once") func theResultsAreThereAtOnce() {
        let results = FetchedResults(byName, in: context)
        #expect(results.objects.map(\.name) == ["e0", "e1", "e2"] && results.sections.map(\.name) == [""])
        #expect(results.fetchError == nil && results.snapshot.objectIDs == results.objects.map(\.objectID))
    }

    @Test func observersAreNotifiedOfNewResultsAndOfNothingElse() async {
        let results = FetchedResults(byName.where { $0.salary > 0 }, in: context)
        let observer = observer { _ = results.objects }
        context.department("Sales")
        context.processPendingChanges()
        _ = results.objects
        #expect(observer.count == 0)
        context.employee("e9", salary: 9)
        await wait { observer.count > 0 }
        #expect(observer.count == 1 && results.objects.map(\.name) == ["e1", "e2", "e9"])
    }

    @Test("FRC-9: changes processed in one turn are one update with ordered differences")
    func changesOfATurnAreOneUpdate() async throws {
        let results = FetchedResults(byName, in: context)
        var updates: [FetchedResultsChanges<Employee>] = []
        results.onChange = { updates.append($0) }
        for number in 3 ..< 100 {
            context.employee("e\(number)")
            if number % 10 == 0 { try context.save() }
        }
        results.objects[0].name = "f"
        context.delete(results.objects[1])
        context.processPendingChanges()
        await wait { !updates.isEmpty }
        for _ in 0 ..< 10 { await Task.yield() }
        #expect(updates.count <= 2, "one for the end of the turn, one for the reading above")
        var inserted = 0
        for change in updates.flatMap(\.objects) {
            if case .insert = change { inserted += 1 }
        }
        #expect(inserted == 97 && results.objects.count == 99 && results.objects.last?.name == "f")
    }

    @Test func readingTakesProcessedChangesIntoAccount() {
        let results = FetchedResults(byName, in: context)
        context.delete(results.objects[0])
        context.processPendingChanges()
        #expect(results.objects.map(\.name) == ["e1", "e2"])
    }

    @Test("FRC-4, SWD-19: sections follow a typed path", arguments: [true, false])
    func sections(isTyped: Bool) async {
        let request = FetchRequest<Employee>().sorted(by: \.department.name).sorted(by: \.name)
        let results =
            isTyped
            ? FetchedResults(request, in: context, sectionedBy: \.department.name)
            : FetchedResults(request, in: context, sectionedBy: "department.name")
        #expect(results.sections.map(\.name) == [""])
        var inserted: [Int] = []
        results.onChange = { inserted += $0.insertedSections }
        results.objects[0].department = context.department("Sales")
        await wait { !inserted.isEmpty }
        #expect(results.sections.map(\.name) == ["", "Sales"] && inserted == [1])
    }

    @Test func savesOfOthersArrive() async throws {
        let results = FetchedResults(byName, in: context)
        let count = LiveValue(context.liveCount(of: byName))
        let id = try await container.write { $0.employee("e9").objectID }
        await wait { results.objects.count == 4 && count.value == 4 }
        #expect(results.objects.last?.objectID == id && count.value == 4)
    }

    @Test func anotherRequestGivesItsResultsAsDifferences() {
        let results = FetchedResults(byName, in: context)
        let observer = observer { _ = results.objects }
        var deleted = 0
        results.onChange = { deleted += $0.objects.count }
        results.request = byName.where { $0.salary == 1 }
        #expect(results.objects.map(\.name) == ["e1"] && deleted == 2 && observer.count == 1)
    }

    @Test func errorsAreObservedAndLeaveTheResults() async {
        let results = FetchedResults(byName, in: context)
        let observer = observer { _ = results.fetchError }
        results.request = FetchRequest<Employee>().sorted(by: "nmae")
        #expect((results.fetchError as? HornbeamError)?.code == .predicateInvalid && observer.count == 1)
        #expect(results.objects.count == 3)
        results.request = byName
        #expect(results.fetchError == nil && results.objects.count == 3)
        let wrong = FetchedResults(FetchRequest<Employee>().sorted(by: "nmae"), in: context)
        #expect(wrong.objects.isEmpty && wrong.fetchError != nil)
    }

    @Test func resultsComeBackAfterAReset() async {
        let results = FetchedResults(byName, in: context)
        let old = results.objects[0]
        context.reset()
        #expect(results.objects.map(\.name) == ["e0", "e1", "e2"] && results.objects[0] !== old)
    }

    @Test func updatesEndWithTheLifeOfTheResults() async {
        var results: FetchedResults<Employee>? = FetchedResults(byName, in: context)
        weak let kept = results
        var updates = 0
        results?.onChange = { _ in updates += 1 }
        results = nil
        #expect(kept == nil)
        context.employee("e9")
        context.processPendingChanges()
        for _ in 0 ..< 10 { await Task.yield() }
        #expect(updates == 0)
    }

    @Test func countsAndTotalsAreObserved() async {
        let count = LiveValue(context.liveCount(of: byName.where { $0.salary > 0 }))
        let totals = LiveValue(context.results(of: Employee.select(\.count, \.salary.sum)))
        #expect(count.value == 2 && totals.value?.map(\.0) == [3] && totals.value?.map(\.1) == [3])
        let observer = observer { _ = (count.value, totals.value) }
        context.employee("e9", salary: 10)
        await wait { observer.count > 0 }
        #expect(count.value == 3 && totals.value?.map(\.0) == [4] && totals.value?.map(\.1) == [13])
    }

    @Test func aSequenceOfSectionsGivesDifferences() async throws {
        var results = context.results(of: byName, sectionedBy: \.department.name).makeAsyncIterator()
        let first = try #require(try await results.next(isolation: #isolation))
        #expect(first.objects.count == 3 && first.changes.objects.count == 3)
        context.delete(first.objects[1])
        context.processPendingChanges()
        let second = try #require(try await results.next(isolation: #isolation))
        guard case .delete(let object, let path)? = second.changes.objects.first else { throw TestProblem() }
        #expect(object === first.objects[1] && path == [0, 1] && second.changes.objects.count == 1)
    }

    private struct TestProblem: Error {}
}
