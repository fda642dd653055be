import Foundation

/// Rows M1: the requests of an app's day on the package catalogue, 60 % lookups with two relationship hops, 20 % sorted pages of 50 with a
/// filter, 5 % counts and groups, 15 % durable saves.
struct DaySuite {
    let options: Options
    let packages: [PackageCatalogue.Package]

    static let rows = [
        Row(id: "M1", title: "an app's day: lookups, pages, counts, saves; one context", unit: "µs/request", goal: .atMost(0.6, .sqlite)),
        Row(id: "M1p", title: "… processor time of all threads", unit: "µs/request"),
        Row(id: "M1r", title: "… without the saves, processor time", unit: "µs/request"),
        Row(id: "M1c", title: "the same by eight contexts on eight threads", unit: "µs/request", goal: .atMost(0.6, .sqlite)),
        Row(id: "M1cp", title: "… processor time of all threads", unit: "µs/request"),
    ]

    private static let contextCount = 8
    private var count: Int { options.isSmoke ? 400 : 8_000 }

    /// Runs after the other rows of the catalogue, because it changes the stores.
    func run(_ stores: [(Contestant, any CatalogueContestant)], into results: inout Results) throws {
        let reads = requests(ofThread: 0, of: 1, seed: 7, savesToo: false)
        let day = requests(ofThread: 0, of: 1, seed: 8)
        let parts = (0..<Self.contextCount).map { requests(ofThread: $0, of: Self.contextCount, seed: UInt64(9 + $0)) }
        let look = Look(perRow: 1e6 / Double(reads.count))
        for (who, store) in stores {
            let client = try store.client()
            try look.each(who, "M1r", &results) { try Self.run(reads, client) }
            try client.close()
        }
        for (who, store) in stores {
            try measure(who, "M1", "M1p", day.count, &results) {
                let client = try store.client()
                let sum = try Self.run(day, client)
                try client.close()
                return sum
            }
        }
        for (who, store) in stores {
            try measure(who, "M1c", "M1cp", Self.contextCount * count, &results) {
                try onThreads(Self.contextCount) { thread in
                    let client = try store.client()
                    let sum = try Self.run(parts[thread], client)
                    try client.close()
                    return sum
                }
            }
        }
    }

    private func measure(_ who: Contestant, _ id: String, _ processorID: String, _ count: Int, _ results: inout Results, _ body: () throws -> UInt64) throws {
        let start = processTime()
        let (seconds, sum) = try timed(body)
        results.add(processorID, who, (processTime() - start) * 1e6 / Double(count))
        results.add(id, who, seconds * 1e6 / Double(count))
        results.check(id, who, sum)
    }

    /// Runs the day, or its reads, repeatedly, for a profiler.
    func profile(_ store: any CatalogueContestant, reads: Bool) throws {
        let end = now() + 8
        var seed: UInt64 = 20
        let client = try store.client()
        while now() < end {
            seed += 1
            let day = requests(ofThread: 0, of: 1, seed: seed, savesToo: !reads)
            let start = processTime()
            let seconds = try timed { _ = try Self.run(day, client) }.seconds
            let processor = (processTime() - start) * 1e6 / Double(day.count)
            note("M1: \((seconds * 1e6 / Double(day.count)).short) µs a request by the clock, \(processor.short) of processor time")
        }
        try client.close()
    }

    private static func run(_ requests: [DayRequest], _ client: any DayClient) throws -> UInt64 {
        var sum: UInt64 = 0
        for request in requests { sum = sum &* 31 &+ (try client.answer(request)) }
        return sum
    }

    /// The requests of one thread. It looks up and changes packages of its own only, and the results of pages, counts and groups do not depend on
    /// the saves, so the sums do not depend on the order in which threads run.
    private func requests(ofThread thread: Int, of threadCount: Int, seed: UInt64, savesToo: Bool = true) -> [DayRequest] {
        var random = SplitMix(seed)
        func below(_ n: Int) -> Int { Int(random.next() % UInt64(n)) }
        func own() -> Int { below((packages.count - 1 - thread) / threadCount + 1) * threadCount + thread }
        var first: [String: Int] = [:]
        for (number, package) in packages.enumerated().reversed() { first[package.name] = number }
        let sections = Array(Set(packages.map(\.section))).sorted()
        return (0..<count).map { _ in
            switch below(savesToo ? 100 : 85) {
            case 0..<60:
                let number = own()
                let name = packages[number].name
                // Some packages share a name; the lookup finds the first of them.
                return random.next() & 1 == 0 && first[name] == number ? .named(name) : .package(number)
            case 60..<80: return .page(from: packages[below(packages.count)].name)
            case 80..<82: return .group(section: sections[below(sections.count)])
            case 82..<85: return .count(target: packages[below(packages.count)].name)
            default:
                let changed = Set((0...below(5)).map { _ in own() }).sorted()
                return .save(changed, version: "\(below(100)).\(below(1000))", target: "added \(below(1_000_000))")
            }
        }
    }
}

/// One request of the day.
enum DayRequest {
    /// Version, size, section and the targets of all dependencies of a package, by its number.
    case package(Int)
    /// Like `package`, by name; of several packages the first.
    case named(String)
    /// Name and size of the first 50 packages of more than 100 KB from a name on, in the order of names.
    case page(from: String)
    /// The number of dependencies on a name in packages of the section “libs”.
    case count(target: String)
    /// Number and size of the packages of a section, by architecture.
    case group(section: String)
    /// Changes the version of some packages, and adds a dependency to the first of them.
    case save([Int], version: String, target: String)
}

/// A connection or a context of a contestant, used by one thread.
protocol DayClient {
    /// A digest of the values that the request reads; 0 for a save.
    func answer(_ request: DayRequest) throws -> UInt64
    func close() throws
}
