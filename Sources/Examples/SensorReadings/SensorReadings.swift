import Foundation
import Hornbeam

/// Readings of sensors that arrive in groups: many objects by their keys in one lookup, a batch update, an asynchronous fetch, observed saves.
@MainActor enum SensorReadings {
    @Entity final class Sensor: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var number: Int
        var value: Double = 0
        var isStale: Bool = false

        static var uniqueKey: Hornbeam.Attribute<Int> { number }
        override class var defaultOrder: [FetchSort] { [FetchSort(number)] }
    }

    static func run() async throws -> [String] {
        let stack = DataStack { try .inMemory(for: Sensor.self) }
        let context = try stack.mainContext
        var lines = ["Known: \(try context.objects(Sensor.self, keys: [1, 2, 3]).count)"]
        for (number, sensor) in try context.upsert(Sensor.self, keys: [1, 2, 3]) { sensor.value = Double(number) / 2 }
        try stack.saveMainContext()
        lines.append("Known: \(try context.objects(Sensor.self, keys: [1, 2, 3, 4]).count)")

        var update = BatchUpdateRequest(Sensor.self, predicate: Sensor.value < 1)
        update.set(Sensor.isStale, to: true)
        update.resultType = .count
        lines.append("Marked: \(try context.execute(update).count)")

        let search = AsynchronousFetchRequest(FetchRequest<Sensor>().inDefaultOrder(), estimatedResultCount: 3)
        let sensors = try await context.fetch(search)
        lines += sensors.map { "\($0.number): \($0.value)\($0.isStale ? ", stale" : "")" }
        lines.append("Progress: \(search.progress.fractionCompleted)")

        _ = try await stack.backgroundContext.perform { background in
            try background.delete(Sensor.self) { $0.isStale == true }
        }
        try await stack.saveBackgroundContext()
        lines.append("Left: \(try context.count(Sensor.self))")
        return lines
    }
}
