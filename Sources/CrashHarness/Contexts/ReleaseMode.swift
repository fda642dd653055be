import Foundation
import Hornbeam

/// Fetches, reads and releases very many objects. Afterwards, the context has no objects, and the memory was returned to the system.
enum ReleaseMode: Mode {
    static let name = "release"
    static let summary = "a million objects created, read and released, with memory measured (--rows N)"
    static let unit = "objects released"
    static let extras = ["rows"]

    static func round(_ seed: UInt64, _ run: Run) throws {
        let rows = run.options.extras["rows"].flatMap { Int($0) } ?? 1_000_000
        run.beginPart("making the rows")
        let soak = try Soak(seed: seed, rows: rows)
        defer { soak.remove() }
        let context = soak.container.newContext()
        // Fills the store's caches without creating objects. The caches stay in memory and must not count as growth.
        let reads = FetchRequest<Soak.Event>().selecting(.sum(of: "number", as: "sum"))
        _ = try context.fetch(reads)
        let before = Soak.residentBytes
        for turn in ["once", "once more"] {
            run.beginPart("holding all objects \(turn)")
            let held = try hold(context)
            let left = context.registeredObjects.count
            let after = Soak.residentBytes
            Terminal.printLine("  MiB resident before \(before >> 20), with the objects \(turn) \(held >> 20), after \(after >> 20)")
            guard left == 0 else { throw Finding("\(left) objects are still registered") }
            guard after <= before + before / 10 else { throw Finding("\(before >> 20) MiB before became \(after >> 20) MiB after") }
            run.add(unit, rows)
        }
        throw Run.Finished()
    }

    /// Retains an object for each row, and returns the memory of the process at that time.
    private static func hold(_ context: ManagedObjectContext) throws -> Int {
        let objects = try context.fetch(FetchRequest<Soak.Event>())
        let sum = objects.reduce(0) { $0 &+ $1[Soak.Event.number] }
        guard sum > 0 || objects.count < 2 else { throw Finding("nothing could be read") }
        return withExtendedLifetime(objects) { Soak.residentBytes }
    }
}
