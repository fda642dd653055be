/// The measurements of one quantity, one for each repetition.
struct Samples: Codable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) { values.append(value) }

    var median: Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var least: Double { values.min() ?? .nan }
    var most: Double { values.max() ?? .nan }
}

/// The quantile of the durations for this share.
func percentile(_ sorted: [Double], _ share: Double) -> Double {
    guard !sorted.isEmpty else { return .nan }
    return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
}
