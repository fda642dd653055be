/// Measures work without I/O: once to warm up, then the median of three.
struct Look {
    /// What one second is for each of the things looked up.
    let perRow: Double

    func each(_ who: Contestant, _ id: String, _ results: inout Results, _ body: () throws -> UInt64) throws {
        try measure(who, id, &results, perRow, nil, body)
    }

    func whole(
        _ who: Contestant, _ id: String, _ results: inout Results, expected: UInt64? = nil, _ body: () throws -> UInt64
    ) throws {
        try measure(who, id, &results, 1e3, expected, body)
    }

    private func measure(
        _ who: Contestant, _ id: String, _ results: inout Results, _ scale: Double, _ expected: UInt64?,
        _ body: () throws -> UInt64
    ) throws {
        results.check(id, who, try body(), expected: expected)
        var samples = Samples()
        for _ in 0..<3 {
            let (seconds, sum) = try processorTimed(body)
            samples.add(seconds * scale)
            results.check(id, who, sum, expected: expected)
        }
        results.add(id, who, samples.median)
    }
}
