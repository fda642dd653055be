/// Measures work without I/O: once to warm up, then the median of three.
struct Look {
    /// The figure for a run of one second, per lookup.
    let perRow: Double

    /// Work of one thread, in processor time.
    func each(
        _ who: Contestant, _ id: String, _ results: inout Results, _ body: () throws -> UInt64
    ) throws {
        try measure(who, id, &results, perRow, isClocked: false, nil, body)
    }

    /// A whole scan, by the clock: it may use more threads than one.
    func whole(
        _ who: Contestant, _ id: String, _ results: inout Results, expected: UInt64? = nil, _ body: () throws -> UInt64
    ) throws {
        try measure(who, id, &results, 1e3, isClocked: true, expected, body)
    }

    /// A whole scan, by the clock, as time per row.
    func scan(_ who: Contestant, _ id: String, _ results: inout Results, _ body: () throws -> UInt64) throws {
        try measure(who, id, &results, perRow, isClocked: true, nil, body)
    }

    private func measure(
        _ who: Contestant, _ id: String, _ results: inout Results, _ scale: Double, isClocked: Bool,
        _ expected: UInt64?, _ body: () throws -> UInt64
    ) throws {
        results.check(id, who, try body(), expected: expected)
        var samples = Samples()
        for _ in 0..<3 {
            let (seconds, sum) = isClocked ? try timed(body) : try processorTimed(body)
            samples.add(seconds * scale)
            results.check(id, who, sum, expected: expected)
        }
        results.add(id, who, samples.median)
    }
}
