import Hornbeam
import HornbeamEngine
import HornbeamModel

/// A call fails during a save over two stores: promising, deciding or carrying out. The same context goes on reading, the stores are
/// opened again where that is needed, and it saves once more: nothing is lost, nothing is there twice.
struct JointFaultTrial: Sendable {
    enum Fault: String, CaseIterable {
        case error = "error of a sync"
        case keepsNew = "failed sync that keeps the new"
        case bringsBackOld = "failed sync that brings back the old"
        case isFull = "full disk"

        func rule(after index: Int) -> FaultRule {
            switch self {
            case .error: FaultRule(.fail(.inputOutput), calls: [.sync], site: .commits, after: index)
            case .keepsNew: FaultRule(.failSyncKeepingNew, calls: [.sync], site: .commits, after: index)
            case .bringsBackOld: FaultRule(.failSyncRevertingToOld, calls: [.sync], site: .commits, after: index)
            case .isFull: FaultRule(.fail(.full), calls: [.write], kind: .log, after: index, isSticky: true)
            }
        }
    }

    static let steps = 4
    let model: ManagedObjectModel
    let fault: Fault
    let meanwhile: GraphFaultTrial.Meanwhile
    /// True for a context that stays at one state between its saves.
    let isPinned: Bool
    /// How many calls succeed first.
    let index: Int
    /// Power fails the more seldom afterwards, the larger it is.
    let stride: Int

    var name: String { "\(fault.rawValue) \(index)\(isPinned ? ", pinned" : ""), then \(meanwhile.rawValue)" }

    /// Every fault at every call of the commits, or at one of some that follow each other, with fewer crashes.
    static func all(_ run: Run, faults: [Fault] = Fault.allCases, oneOf stride: Int = 1) throws {
        let model = try TrialModel.make()
        for fault in faults {
            for (number, meanwhile) in GraphFaultTrial.Meanwhile.allCases.enumerated() {
                for isPinned in [false, true] {
                    var index = (number + (isPinned ? 1 : 0)) % stride
                    while try JointFaultTrial(
                        model: model, fault: fault, meanwhile: meanwhile, isPinned: isPinned, index: index, stride: stride
                    ).perform(run)
                    {
                        index += stride
                    }
                }
            }
        }
        run.add("saves over two stores failed at every call")
    }

    /// False when the workload makes no such call any more.
    private func perform(_ run: Run) throws -> Bool {
        let isAskedFor = run.includes(name) || run.options.replay?.hasPrefix(name + " > ") == true
        guard isAskedFor else { return index < 100 }
        try run.trying(name, as: "failing saves over two stores")
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let graph = try JointGraph(on: faults, model: model)
        faults.add(fault.rule(after: index))
        let context = graph.container.newContext()
        if isPinned { try context.setQueryGeneration(from: .current) }
        for step in 1...Self.steps {
            disk.mark(.submitted(UInt64(step)))
            try save(step, in: context, graph, faults, run)
            disk.mark(.acknowledged(UInt64(step)))
            try graph.expect(step, in: context)
        }
        try graph.container.performAndWait { try graph.expect(Self.steps, in: $0) }
        // What was carried out without a sync may fail to get one at the end; the promise is still there.
        do { try graph.finish() } catch let error as HornbeamError where Self.isExpected(error) {}
        faults.removeRules()
        let reopened = try JointGraph(on: disk, model: model)
        try reopened.container.performAndWait { try reopened.expect(Self.steps, in: $0) }
        try reopened.finish()
        if meanwhile == .nothing, !isPinned { try crash(disk, run) }
        return faults.firedCount > 0
    }

    private static func isExpected(_ error: HornbeamError) -> Bool {
        [.durabilityLost, .incompleteSave, .full].contains(error.code)
    }

    private func save(
        _ step: Int, in context: ManagedObjectContext, _ graph: JointGraph, _ faults: FaultInjector, _ run: Run
    ) throws {
        do {
            try graph.change(step, in: context)
            try context.save()
            return
        } catch let error as HornbeamError where Self.isExpected(error) {
            let end = error.code == .durabilityLost ? "a failed sync" : error.code == .full ? "a full disk" : "a part of the stores"
            run.add("saves that ended in \(end)")
        }
        guard context.hasChanges else { throw Finding("a context has lost its changes to a save that failed") }
        // A key could not be had: the step is not whole yet.
        let isWhole = try context.fetch(FetchRequest<Mark>().where("step == %d", step)).count == 2
        if isWhole { try graph.expect(step, in: context) }
        if fault == .isFull { try seeRefusal(context) }
        faults.removeRules()
        guard isWhole else {
            context.rollback()
            try graph.change(step, in: context)
            return try context.save()
        }
        switch meanwhile {
        case .nothing: break
        case .edits: try graph.book(step, 0, context)?.title = "edited"
        case .deletes: try graph.book(step, 0, context).map(context.delete)
        }
        try graph.coordinator.reopenFailedStores()
        try context.save()
        guard !context.hasChanges else { throw Finding("a context has changes left after its save") }
        try takeBack(step, in: context, graph)
    }

    /// As long as the cause is there, so is the error; and the changes stay.
    private func seeRefusal(_ context: ManagedObjectContext) throws {
        do { try context.save() } catch let error as HornbeamError where Self.isExpected(error) {
            guard context.hasChanges else { throw Finding("a second failure has taken the changes") }
            return
        }
        throw Finding("a full disk took a save")
    }

    /// Sees that what was done meanwhile has been saved, and undoes it.
    private func takeBack(_ step: Int, in context: ManagedObjectContext, _ graph: JointGraph) throws {
        let book = try graph.book(step, 0, context)
        switch meanwhile {
        case .nothing: return
        case .edits:
            guard let book, book.title == "edited" else { throw Finding("a change of a doubtful object is lost") }
            book.title = "book \(step)"
        case .deletes:
            guard book == nil else { throw Finding("a doubtful object that was deleted is back") }
            let again = Book(context: context)
            (again.number, again.title) = (step, "book \(step)")
            again.author = try context.fetch(FetchRequest<Author>().where("number == 0")).first
            try context.assign(again, to: graph.coordinator.persistentStores[0])
        }
        try context.save()
    }

    /// Power fails at some moments afterwards: a save that was found to be there must stay, in both stores.
    private func crash(_ disk: SimulatedDisk, _ run: Run) throws {
        var enumerator = CrashEnumerator(seed: UInt64(index))
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 31 * stride * stride
        do {
            _ = try enumerator.crash(disk) { image in
                try run.trying(name + " > " + image.name)
                try judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.IsOver {
            throw failure.cause
        }
    }

    private func judge(_ image: CrashEnumerator.Image) throws {
        let graph: JointGraph
        do { graph = try JointGraph(on: image.disk, model: model) } catch let error as HornbeamError
        where error.code == .notAStore && image.acknowledged == 0 {
            return
        }
        image.disk.mark(.recovered)
        try graph.container.performAndWait { context in
            let step = try graph.newestStep(in: context)
            guard step >= image.acknowledged, step <= max(image.submitted, image.acknowledged) else {
                throw Finding("the stores have seen step \(step)")
            }
            try graph.expect(step, in: context)
            try graph.change(step + 1, in: context)
            try context.save()
            try graph.expect(step + 1, in: context)
        }
        try graph.finish()
    }
}
