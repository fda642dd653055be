import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamSimulation
import HornbeamStore

/// A store whose content is replaced continuously, and the steps that replace it.
final class Soak {
    @Entity final class Source: ManagedObject {
        @Attribute(.unique) var name: String
        @Attribute(merge: .sum) var total = 0
        @Relationship(deleteRule: .cascade) var events: ManagedSet<Event>
    }

    @Entity final class Event: ManagedObject {
        @Attribute(.unique) var uid: String
        @Attribute(.indexed) var number = 0
        var title: String
        var payload: Data?
        var source: Source?
    }

    let container: PersistentContainer
    let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-soak-\(UUID().uuidString)")
    let rows: Int
    var random: SimulationRandom
    /// The number of the next event. Numbers only increase; the oldest events are deleted.
    var next = 0
    var oldest = 0
    /// Contexts that exist during the whole run.
    private var residents: [ManagedObjectContext] = []
    /// A context that is pinned to an old snapshot for some steps.
    private var pinned: ManagedObjectContext?
    private var steps = 0

    init(seed: UInt64, rows: Int) throws {
        self.rows = rows
        random = SimulationRandom(seed: seed)
        let model = try ManagedObjectModel(for: Source.self, Event.self)
        container = try PersistentContainer(name: "Soak", model: model, classes: [Source.self, Event.self])
        var description = PersistentStoreDescription(url: folder)
        description.poolBytes = 32 << 20
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        residents = (0..<3).map { _ in container.newContext() }
        for number in 0..<10 { Source(context: residents[0])[Source.name] = "source \(number)" }
        try residents[0].save()
        while next < rows { try importBatch(min(2_000, rows - next)) }
    }

    func remove() {
        residents = []
        pinned = nil
        try? container.close()
        try? FileManager.default.removeItem(at: folder)
    }

    func step() throws {
        steps += 1
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: try importBatch(400)
        case 2: try importObjects(150)
        case 3, 4: try overlap()
        case 5: try children()
        case 6: try readAll()
        case 7: try undoing()
        case 8: try exchangeSource()
        case 9: try readPinned()
        case 10: try failing()
        default: try residentWork()
        }
        try prune()
    }

    // MARK: Measuring

    func measure() throws -> SoakSample {
        SoakSample(
            resident: Self.residentBytes, stored: try storedBytes(),
            openFiles: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0)
    }

    /// The resident memory of the process, from the operating system.
    static var residentBytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
    }

    private func storedBytes() throws -> Int {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
            .reduce(0) { $0 + ((try? $1.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0) }
    }

    /// Throws unless the number of rows is as expected and the store passes the check.
    func judge() throws {
        let count = try container.performAndWait { try $0.count(FetchRequest<Event>()) }
        guard abs(count - rows) <= rows / 2 else { throw Finding("\(count) rows are stored instead of about \(rows)") }
        let report = try container.openStore().check()
        guard report.isSound else { throw Finding("the store is not sound: \(report)") }
    }

    // MARK: Contexts

    private func residentWork() throws {
        guard let context = residents.randomElement(using: &random) else { return }
        let events = try context.fetch(FetchRequest<Event>().sorted(by: "number").limit(50))
        for event in events { event[Event.title] += "." }
        do { try context.save() } catch let error as HornbeamError where error.code == .mergeConflict { context.rollback() }
    }

    private func readPinned() throws {
        if pinned == nil {
            let context = container.newContext()
            try context.setQueryGeneration(from: .current)
            pinned = context
        }
        guard let pinned else { return }
        _ = try pinned.fetch(FetchRequest<Event>().limit(200)).map { $0[Event.title].utf8.count }
        if steps % 5 == 0 { self.pinned = nil }
    }
}
