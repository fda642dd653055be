import Foundation

/// All samples of a run, with machine, commit and settings.
struct JSONReport: Codable {
    struct Line: Codable {
        let id: String
        let title: String
        let unit: String
        let goal: String?
        let isReached: Bool?
        let samples: [String: [Double]]
    }

    let machine: Machine
    let rows: Int
    let repetitions: Int
    let settings: [String]
    let lines: [Line]

    init(_ results: Results, _ options: Options, _ machine: Machine, settings: [String]) {
        self.machine = machine
        rows = options.rows
        repetitions = options.repetitions
        self.settings = settings
        lines = results.rows.filter { results.samples[$0.id] != nil }.map { row in
            let samples = results.samples[row.id]!.map { ($0.rawValue, $1.values) }
            return Line(
                id: row.id, title: row.title, unit: row.unit, goal: row.goal?.text, isReached: results.isReached(row),
                samples: Dictionary(uniqueKeysWithValues: samples))
        }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data([10])).write(to: URL(fileURLWithPath: path))
    }
}
