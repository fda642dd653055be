import Foundation
import Hornbeam
import HornbeamStore
import HornbeamThreads

/// A store with counters, and the threads that increment them.
struct StressStack {
    typealias Counter = StressModel.Counter
    typealias Group = StressModel.Group
    typealias Mark = StressModel.Mark

    let container: PersistentContainer
    private let folder: URL?
    let counters: [ManagedObjectID]
    let groups: [ManagedObjectID]

    init(inMemory: Bool) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "hornbeam-stress-\(UUID().uuidString)")
        let container = try Self.container(inMemory ? .inMemory() : PersistentStoreDescription(url: url))
        try self.init(filling: container, folder: inMemory ? nil : url)
    }

    /// A store that has its counters already.
    init(_ description: PersistentStoreDescription) throws {
        container = try Self.container(description)
        folder = nil
        (counters, groups) = try container.performAndWait { context in
            (
                try context.fetch(FetchRequest<Counter>(sortedBy: [FetchSort("name")])).map(\.objectID),
                try context.fetch(FetchRequest<Group>(sortedBy: [FetchSort("name")])).map(\.objectID)
            )
        }
    }

    static func container(_ description: PersistentStoreDescription) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Stress", model: StressModel.model(), classes: StressModel.classes)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    /// - Parameter container: A container with an empty store.
    init(filling container: PersistentContainer, folder: URL?) throws {
        self.container = container
        self.folder = folder
        (counters, groups) = try container.performAndWait { context in
            let groups = (0..<3).map { number in
                let group = Group(context: context)
                group[Group.name] = "group \(number)"
                return group
            }
            let counters = (0..<12).map { number in
                let counter = Counter(context: context)
                counter[Counter.name] = "counter \(number)"
                counter[Counter.group] = groups[number % groups.count]
                return counter
            }
            try context.save()
            return (counters.map(\.objectID), groups.map(\.objectID))
        }
    }

    func remove() {
        try? container.close()
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    /// Runs the steps on several threads, each with a separate context and a merge policy.
    func work(seed: UInt64, threads: Int, steps: Int) throws -> StressTally {
        let results = Guarded<[Swift.Result<StressTally, any Error>]>([])
        let group = DispatchGroup()
        for number in 0..<threads {
            group.enter()
            let thread = Thread { [self] in
                let result = Swift.Result { try worker(number, seed, steps) }
                results.withLock { $0.append(result) }
                group.leave()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        group.wait()
        var sum = StressTally()
        for result in results.withLock({ $0 }) { sum.add(try result.get()) }
        return sum
    }

    private static let policies: [MergePolicy] = [
        .error, .mergeByPropertyObjectTrump, .error, .mergeByPropertyStoreTrump, .error, .rollback, .error, .overwrite,
    ]

    /// - Parameter seconds: The least time for which the worker runs. It makes further steps until then.
    func worker(_ number: Int, _ seed: UInt64, _ steps: Int, seconds: Double = 0) throws -> StressTally {
        let end = ContinuousClock.now + .seconds(seconds)
        return try container.performAndWait { context in
            context.mergePolicy = Self.policies[number % Self.policies.count]
            var worker = StressWorker(self, context, number, seed)
            for _ in 0..<steps { try worker.step() }
            while ContinuousClock.now < end { try worker.step() }
            return worker.tally
        }
    }

    // MARK: Judging

    /// Compares the store with the sums of the workers.
    func judge(_ tally: StressTally) throws {
        try container.performAndWait { context in
            let counters = try context.fetch(FetchRequest<Counter>())
            let marks = try context.fetch(FetchRequest<Mark>())
            try expect(counters.count == self.counters.count, "there are \(counters.count) counters")
            let value = counters.reduce(0) { $0 + $1[Counter.value] }
            try expect(value == tally.value, "the values sum to \(value), and \(tally.value) was acknowledged and not reported lost")
            let sum = counters.reduce(0) { $0 + $1[Counter.tally] }
            try expect(sum == tally.tally, "the tallies sum to \(sum), and \(tally.tally) was acknowledged and not reported lost")
            try expect(marks.count == tally.marks, "there are \(marks.count) marks instead of \(tally.marks)")
            for mark in marks {
                guard let counter = mark[Mark.counter] else { throw Finding("a mark lost its counter") }
                try expect(counter[Counter.marks].contains(mark), "a counter lacks one of its marks")
            }
            for counter in counters {
                guard let group = counter[Counter.group] else { throw Finding("a counter lost its group") }
                try expect(group[Group.counters].contains(counter), "a group lacks one of its counters")
            }
            let members = try context.fetch(FetchRequest<Group>()).reduce(0) { $0 + $1[Group.counters].count }
            try expect(members == counters.count, "the groups have \(members) members for \(counters.count) counters")
        }
    }

    /// Checks a store of Hornbeam's own engine.
    func check() throws {
        let report = try container.openStore().check()
        try expect(report.isSound, "the store is not sound: \(report)")
    }

    private func expect(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw Finding(what()) }
    }
}
