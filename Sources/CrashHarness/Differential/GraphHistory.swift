import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// Random changes, saves and fetches of an object graph, derived from one seed. Each result is compared with a plain model.
///
/// One context changes and saves. Another one only reads, and must always show the saved state.
final class GraphHistory {
    private let fileSystem = MemoryFileSystem()
    private let model: ManagedObjectModel
    private let options: Store.Options
    private var container: PersistentContainer
    var random: SimulationRandom
    var context: ManagedObjectContext
    private var watching: ManagedObjectContext
    /// The expected state of `context`; `saved` is the last saved state.
    var shown: PlainGraph
    var saved: PlainGraph
    var lastNumber = 0
    var operations = 0

    init(seed: UInt64) throws {
        random = SimulationRandom(seed: seed)
        let cascades = Bool.random(using: &random)
        model = try TeamModel.make(cascades: cascades, isIndexed: Bool.random(using: &random))
        shown = PlainGraph(cascades: cascades)
        saved = shown
        var options = Store.Options()
        options.fileSystem = fileSystem
        options.backgroundCheckpoints = false
        options.engine.pageSize = [1024, 4096, 16384].randomElement(using: &random)!
        options.engine.poolBytes = options.engine.pageSize * [64, 1024].randomElement(using: &random)!
        options.engine.checkpointLogBytes = [50_000, 1 << 20].randomElement(using: &random)!
        options.engine.log = LogOptions(firstSegmentBytes: 1 << 16, largestSegmentBytes: 1 << 18)
        self.options = options
        container = try Self.open(model, options)
        context = container.newContext()
        watching = container.newContext()
    }

    private static func open(_ model: ManagedObjectModel, _ options: Store.Options) throws -> PersistentContainer {
        let store = try Store.open(.directory("graph.hornbeam"), model: model, options: options)
        return try PersistentContainer.over(store, classes: TeamModel.classes)
    }

    /// Executes operations until their number or the limit of the run is reached.
    func perform(operations goal: Int, _ run: Run) throws {
        var counted = 0
        while operations < goal, !run.isFinished {
            do { try step() } catch let error where !(error is Finding) {
                throw Finding("operation \(operations) throws \(error)")
            }
            run.add(DifferentialMode.unit, operations - counted)
            run.add("operations on objects", operations - counted)
            counted = operations
        }
        try expectAll(context, shown)
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding(report.description) }
        try container.close()
    }

    private func step() throws {
        operations += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: try change()
        case 45..<75: try ask(context, shown)
        case 75..<83: try ask(watching, saved)
        case 83..<90: try save()
        case 90..<92:
            context.rollback()
            shown = saved
        case 92: try expectAll(context, shown)
        case 93: try expectAll(watching, saved)
        case 94..<97:
            try save()
            try batch()
        case 97:
            try save()
            if Bool.random(using: &random) { context.reset() } else { try context.refreshAllObjects() }
        case 98: try expectDuplicateRefused()
        default: if Int.random(in: 0..<10, using: &random) == 0 { try reopen() }
        }
    }

    func save() throws {
        operations += 1
        try context.save()
        saved = shown
    }

    /// Closes and opens the store. Unsaved changes are discarded.
    private func reopen() throws {
        context.reset()
        watching.reset()
        try container.close()
        container = try Self.open(model, options)
        context = container.newContext()
        watching = container.newContext()
        shown = saved
        try expectAll(context, shown)
    }

    func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
        guard isRight else { throw Finding("operation \(operations): \(what())") }
    }
}
