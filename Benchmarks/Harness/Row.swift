/// The contestant of a measurement.
enum Contestant: String, Codable, CaseIterable {
    case hornbeam = "Hornbeam"
    case sqlite = "SQLite"
    case lmdb = "LMDB"
    /// libpq by hand, on the tables of Hornbeam in the same PostgreSQL server.
    case libpq
    /// The raw baseline without a store: the physical limit.
    case machine = "machine"
}

/// Hornbeam's goal in a row.
struct Goal: Codable {
    enum Limit: String, Codable { case atMost, atLeast }
    let limit: Limit
    let factor: Double
    /// The contestant whose figure is multiplied by the factor; nil if the factor itself is the limit.
    let of: Contestant?

    static func atMost(_ factor: Double, _ of: Contestant? = nil) -> Goal { Goal(limit: .atMost, factor: factor, of: of) }
    static func atLeast(_ factor: Double, _ of: Contestant? = nil) -> Goal { Goal(limit: .atLeast, factor: factor, of: of) }

    var text: String {
        let sign = limit == .atMost ? "≤" : "≥"
        return of.map { "\(sign) \(factor.short) × \($0.rawValue)" } ?? "\(sign) \(factor.short)"
    }

    /// Whether a figure reaches the goal; nil when the figure to compare with is missing.
    func isReached(by figure: Double, beside other: Double?) -> Bool? {
        var bound = factor
        if of != nil {
            guard let other else { return nil }
            bound *= other
        }
        return limit == .atMost ? figure <= bound : figure >= bound
    }
}

/// One line of the table.
struct Row {
    let id: String
    let title: String
    let unit: String
    var goal: Goal?
}

extension Double {
    /// Three significant digits, no exponent.
    var short: String {
        if isNaN { return "–" }
        let size = abs(self)
        let digits = size >= 100 || self == rounded() ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4
        return formatted(digits)
    }

    func formatted(_ digits: Int) -> String {
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let whole = Int((self * Double(scale)).rounded())
        let sign = whole < 0 ? "-" : ""
        let fraction = String(abs(whole) % scale)
        let integer = "\(sign)\(abs(whole) / scale)"
        return digits == 0 ? integer : integer + "." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
