/// Everything that was measured so far, row by row.
struct Results {
    private(set) var rows: [Row] = []
    private(set) var samples: [String: [Contestant: Samples]] = [:]
    /// The checksums that the contestants computed in a row. They are compared before any figure is used.
    private var checks: [String: [Contestant: UInt64]] = [:]
    private(set) var disagreements: [String] = []

    mutating func declare(_ rows: [Row]) {
        self.rows += rows.filter { row in !self.rows.contains { $0.id == row.id } }
    }

    mutating func add(_ id: String, _ contestant: Contestant, _ value: Double) {
        samples[id, default: [:]][contestant, default: Samples()].add(value)
    }

    /// Records a checksum. All contestants and all repetitions must compute the same.
    mutating func check(_ id: String, _ contestant: Contestant, _ sum: UInt64, expected: UInt64? = nil) {
        if let expected, expected != sum {
            disagreements.append("\(id): \(contestant.rawValue) found \(sum), which should be \(expected).")
        }
        if let (other, first) = checks[id]?.first, first != sum {
            disagreements.append("\(id): \(contestant.rawValue) found \(sum), \(other.rawValue) found \(first).")
        }
        checks[id, default: [:]][contestant] = sum
    }

    func median(_ id: String, _ contestant: Contestant) -> Double? { samples[id]?[contestant]?.median }

    /// Whether Hornbeam reaches a row's goal; nil without a goal or a figure.
    func isReached(_ row: Row) -> Bool? {
        guard let goal = row.goal, let figure = median(row.id, .hornbeam) else { return nil }
        return goal.isReached(by: figure, beside: goal.of.flatMap { median(row.id, $0) })
    }
}
