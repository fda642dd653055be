import Hornbeam
import HornbeamEngine
import HornbeamModel
import HornbeamSimulation
import HornbeamStore

/// A sync fails during a save of an object graph. The store is opened again, and the same context saves again. No change may be
/// lost or written twice.
struct GraphFaultTrial: Sendable {
    enum Fault: String, CaseIterable {
        case error = "error of a sync"
        case keepsNew = "failed sync that keeps the new"
        case revertsToOld = "failed sync that brings back the old"

        var effect: FaultRule.Effect {
            switch self {
            case .error: .fail(.inputOutput)
            case .keepsNew: .failSyncKeepingNew
            case .revertsToOld: .failSyncRevertingToOld
            }
        }
    }

    /// The actions of the program between the failure and the reopening of the store.
    enum Meanwhile: String, CaseIterable {
        case nothing
        case edits
        case deletes
    }

    let workload: GraphWorkload
    let fault: Fault
    let meanwhile: Meanwhile
    /// The number of commit syncs that succeed before the failure.
    let index: Int

    var name: String { "\(fault.rawValue) \(index), then \(meanwhile.rawValue)" }

    /// Runs a trial for every fault at every sync of the commits, or, with a stride, at one of several consecutive syncs.
    static func all(of workload: GraphWorkload, _ run: Run, faults: [Fault] = Fault.allCases, oneOf stride: Int = 1) throws {
        for fault in faults {
            for (number, meanwhile) in Meanwhile.allCases.enumerated() {
                var index = number % stride
                while try GraphFaultTrial(workload: workload, fault: fault, meanwhile: meanwhile, index: index).perform(run) {
                    index += stride
                }
            }
        }
        run.add("object graphs failed at every sync")
    }

    /// Returns false if the workload has no sync with this index.
    private func perform(_ run: Run) throws -> Bool {
        let isSelected = run.includes(name) || run.options.replay?.hasPrefix(name + " > ") == true
        guard isSelected else { return index < 100 }
        try run.beginCase(name, as: "failing saves of object graphs")
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let container = try workload.open(faults)
        faults.add(FaultRule(fault.effect, calls: [.sync], site: .commits, after: index))
        try container.performAndWait { context in
            for step in 1...workload.steps {
                disk.mark(.submitted(UInt64(step)))
                do {
                    try GraphTrial.perform(step, in: context)
                } catch let error as HornbeamError where error.code == .durabilityLost {
                    faults.removeRules()
                    try continueAfterFault(from: step, in: context, container.persistentStoreCoordinator)
                }
                disk.mark(.acknowledged(UInt64(step)))
                try expect(step, in: context)
            }
        }
        try container.performAndWait { context in try expect(workload.steps, in: context) }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        try container.close()
        if meanwhile == .nothing { try crash(disk, run) }
        return faults.firedCount > 0
    }

    /// Simulates power failures at some later operations. A save that was found durable must stay durable.
    private func crash(_ disk: SimulatedDisk, _ run: Run) throws {
        var enumerator = CrashEnumerator(seed: UInt64(index))
        enumerator.subsetsUpTo = 2
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 29
        do {
            _ = try enumerator.crash(disk) { image in
                try run.beginCase(name + " > " + image.name)
                try workload.judge(image)
            }
        } catch let failure as CrashEnumerator.Failure where failure.cause is Run.Finished {
            throw failure.cause
        }
    }

    private func expect(_ step: Int, in context: ManagedObjectContext) throws {
        var oracle = GraphOracle()
        oracle.advance(to: step)
        try GraphTrial.expect(oracle, in: context)
    }

    private func continueAfterFault(
        from step: Int, in context: ManagedObjectContext, _ coordinator: PersistentStoreCoordinator
    ) throws {
        guard GraphOracle.kind(step) == .save else {
            try coordinator.reopenFailedStores()
            // A program must check whether a failed batch request was executed.
            if try GraphTrial.newestStep(in: context) < step { try GraphTrial.perform(step, in: context) }
            return
        }
        guard context.hasChanges else { throw Finding("a context has lost its changes after a failed save") }
        switch meanwhile {
        case .nothing: break
        case .edits: try book(step, in: context)?.title = "edited"
        case .deletes: if let book = try book(step, in: context) { context.delete(book) }
        }
        try coordinator.reopenFailedStores()
        try context.save()
        guard !context.hasChanges else { throw Finding("a context still has changes after its save") }
        try revertInterimChanges(step, in: context)
    }

    /// Checks that the changes between failure and reopening are saved, and reverts them.
    private func revertInterimChanges(_ step: Int, in context: ManagedObjectContext) throws {
        let book = try book(step, in: context)
        switch meanwhile {
        case .nothing: break
        case .edits:
            guard let book, book.title == "edited" else { throw Finding("a change of an object in doubt is lost") }
            book.title = "book \(step)"
        case .deletes:
            guard book == nil else { throw Finding("an object in doubt that was deleted exists again") }
            try GraphTrial.addBook(step, in: context)
        }
        try context.save()
    }

    private func book(_ step: Int, in context: ManagedObjectContext) throws -> Book? {
        let books = try context.fetch(try FetchRequest<Book>().where("number == %d", step))
        guard books.count < 2 else { throw Finding("an object in doubt exists twice") }
        return books.first
    }
}
