import Hornbeam
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation

/// A call fails during a save over two stores: while a part is prepared, the commit record is written, or a part is applied. The same context
/// reads again, the stores are opened again if necessary, and the context saves again. No change may be lost or written twice.
struct TwoStoreFaultTrial: Sendable {
    enum Fault: String, CaseIterable {
        case error = "error of a sync"
        case keepsNew = "failed sync that keeps the new"
        case revertsToOld = "failed sync that brings back the old"
        case isFull = "full disk"

        func rule(after index: Int) -> FaultRule {
            switch self {
            case .error: FaultRule(.fail(.inputOutput), calls: [.sync], site: .commits, after: index)
            case .keepsNew: FaultRule(.failSyncKeepingNew, calls: [.sync], site: .commits, after: index)
            case .revertsToOld: FaultRule(.failSyncRevertingToOld, calls: [.sync], site: .commits, after: index)
            case .isFull: FaultRule(.fail(.full), calls: [.write], kind: .log, after: index, isSticky: true)
            }
        }
    }

    static let steps = 4
    let model: ManagedObjectModel
    let fault: Fault
    let meanwhile: GraphFaultTrial.Meanwhile
    /// True to pin the context between its saves.
    let isPinned: Bool
    /// The number of calls that succeed before the failure.
    let index: Int
    /// The distance between tested calls. With a larger one than 1, power failures are simulated after the first trial only, and fewer of them.
    let stride: Int

    var name: String { "\(fault.rawValue) \(index)\(isPinned ? ", pinned" : ""), then \(meanwhile.rawValue)" }

    /// Runs a trial for every fault at every call of the commits, or, with a stride, at one of several consecutive calls.
    static func all(_ run: Run, faults: [Fault] = Fault.allCases, oneOf stride: Int = 1) throws {
        let model = try TrialModel.make()
        for fault in faults {
            for (number, meanwhile) in GraphFaultTrial.Meanwhile.allCases.enumerated() {
                for isPinned in [false, true] {
                    var index = (number + (isPinned ? 1 : 0)) % stride
                    while try TwoStoreFaultTrial(
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

    /// Returns false if the workload has no call with this index.
    private func perform(_ run: Run) throws -> Bool {
        let isSelected = run.includes(name) || run.options.replay?.hasPrefix(name + " > ") == true
        guard isSelected else { return index < 100 }
        try run.beginCase(name, as: "failing saves over two stores")
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let graph = try TwoStoreGraph(on: faults, model: model)
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
        // The last sync of an applied part may fail. The prepared part still exists then.
        do { try graph.finish() } catch let error as HornbeamError where Self.isExpected(error) {}
        faults.removeRules()
        let reopened = try TwoStoreGraph(on: disk, model: model)
        try reopened.container.performAndWait { try reopened.expect(Self.steps, in: $0) }
        try reopened.finish()
        if meanwhile == .nothing, !isPinned, index < stride || stride == 1 { try crash(disk, run) }
        return faults.firedCount > 0
    }

    private static func isExpected(_ error: HornbeamError) -> Bool {
        [.durabilityLost, .incompleteSave, .full].contains(error.code)
    }

    private func save(
        _ step: Int, in context: ManagedObjectContext, _ graph: TwoStoreGraph, _ faults: FaultInjector, _ run: Run
    ) throws {
        do {
            try graph.change(step, in: context)
            try context.save()
            return
        } catch let error as HornbeamError where Self.isExpected(error) {
            let end = error.code == .durabilityLost ? "a failed sync" : error.code == .full ? "a full disk" : "a part of the stores"
            run.add("saves that ended in \(end)")
        }
        guard context.hasChanges else { throw Finding("a context has lost its changes after a failed save") }
        // If keys could not be reserved, the step is incomplete.
        let isWhole = try context.fetch(FetchRequest<Mark>().where("step == %d", step)).count == 2
        if isWhole { try graph.expect(step, in: context) }
        if fault == .isFull { try expectRepeatedFailure(context) }
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
        guard !context.hasChanges else { throw Finding("a context still has changes after its save") }
        try revertInterimChanges(step, in: context, graph)
    }

    /// Saves again while the fault lasts. The save must fail again, and the changes must stay.
    private func expectRepeatedFailure(_ context: ManagedObjectContext) throws {
        do { try context.save() } catch let error as HornbeamError where Self.isExpected(error) {
            guard context.hasChanges else { throw Finding("a second failure has lost the changes") }
            return
        }
        throw Finding("a save on a full disk succeeded")
    }

    /// Checks that the changes between failure and reopening are saved, and reverts them.
    private func revertInterimChanges(_ step: Int, in context: ManagedObjectContext, _ graph: TwoStoreGraph) throws {
        let book = try graph.book(step, 0, context)
        switch meanwhile {
        case .nothing: return
        case .edits:
            guard let book, book.title == "edited" else { throw Finding("a change of an object in doubt is lost") }
            book.title = "book \(step)"
        case .deletes:
            guard book == nil else { throw Finding("an object in doubt that was deleted exists again") }
            let again = Book(context: context)
            (again.number, again.title) = (step, "book \(step)")
            again.author = try context.fetch(FetchRequest<Author>().where("number == 0")).first
            try context.assign(again, to: graph.coordinator.persistentStores[0])
        }
        try context.save()
    }

    /// Simulates power failures at some later operations. A save that was found durable must stay durable in both stores.
    private func crash(_ disk: SimulatedDisk, _ run: Run) throws {
        var enumerator = CrashEnumerator(seed: UInt64(index))
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 31 * stride * stride
        do {
            _ = try enumerator.crash(disk) { image in
                try run.beginCase(name + " > " + image.name)
                try judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.Finished {
            throw failure.cause
        }
    }

    private func judge(_ image: CrashEnumerator.Image) throws {
        let graph: TwoStoreGraph
        do { graph = try TwoStoreGraph(on: image.disk, model: model) } catch let error as HornbeamError
        where error.code == .notAStore && image.acknowledged == 0 {
            return
        }
        image.disk.mark(.recovered)
        try graph.container.performAndWait { context in
            let step = try graph.newestStep(in: context)
            guard step >= image.acknowledged, step <= max(image.submitted, image.acknowledged) else {
                throw Finding("the stores have recovered step \(step)")
            }
            try graph.expect(step, in: context)
            try graph.change(step + 1, in: context)
            try context.save()
            try graph.expect(step + 1, in: context)
        }
        try graph.finish()
    }
}
