import Foundation

/// Rows W1 and W1d: the transitive closure over the dependencies of the package catalogue, which have cycles.
struct WalkSuite {
    let options: Options
    let folder: Folder
    let contestants: [any WalkContestant.Type]

    static let rows = [
        Row(id: "W1", title: "all packages that need a package, directly or through others", unit: "µs", goal: .atMost(0.8, .sqlite)),
        Row(id: "W1d", title: "… through at most two others, with the smallest depth", unit: "µs", goal: .atMost(0.8, .sqlite)),
    ]

    func run(into results: inout Results) throws {
        guard let graph = try PackageGraph(options) else {
            return note("This machine has no package catalogue: the rows of walks are left out.")
        }
        results.declare(Self.rows)
        for repetition in 0..<options.repetitions {
            note("walks over \(graph.names.count) packages, repetition \(repetition + 1)")
            for type in contestants.indices.map({ contestants[($0 + repetition) % contestants.count] }) {
                let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-walks"))
                try store.load(graph)
                let look = Look(perRow: 1e6 / Double(graph.roots.count))
                try look.each(type.contestant, "W1", &results) { try graph.roots.reduce(0) { try $0 &+ store.dependents(of: $1) } }
                try look.each(type.contestant, "W1d", &results) { try graph.roots.reduce(0) { try $0 &+ store.dependents(of: $1, depth: 3) } }
                try store.close()
            }
        }
    }

    /// Runs both rows repeatedly, for a profiler.
    func profile(_ type: any WalkContestant.Type) throws {
        guard let graph = try PackageGraph(options) else { return note("This machine has no package catalogue.") }
        let store = try type.init(path: try folder.empty("walks"))
        try store.load(graph)
        let end = now() + 8
        while now() < end {
            let all = try processorTimed { try graph.roots.reduce(0) { try $0 &+ store.dependents(of: $1) } }
            let some = try processorTimed { try graph.roots.reduce(0) { try $0 &+ store.dependents(of: $1, depth: 3) } }
            let perRoot = 1e6 / Double(graph.roots.count)
            note("W1: \((all.seconds * perRoot).short) µs, \(all.result) packages; W1d: \((some.seconds * perRoot).short) µs")
        }
        try store.close()
    }
}

/// The packages with different names, and the dependencies between them.
struct PackageGraph {
    private(set) var names: [String] = []
    /// For each package the packages that it depends on.
    private(set) var requirements: [[Int]] = []
    /// The names at which walks begin: the packages with the most dependents, and others at random.
    private(set) var roots: [String] = []

    /// Nil if the machine has no catalogue.
    init?(_ options: Options) throws {
        guard let catalogue = try PackageCatalogue(file: options.catalogue) else { return nil }
        var places: [String: Int] = [:]
        let packages = options.isSmoke ? Array(catalogue.packages.prefix(5_000)) : catalogue.packages
        for package in packages where places[package.name] == nil {
            places[package.name] = names.count
            names.append(package.name)
        }
        requirements = Array(repeating: [], count: names.count)
        var dependents = [Int](repeating: 0, count: names.count)
        var seen: Set<[Int]> = []
        for package in packages {
            let place = places[package.name]!
            for target in package.depends.compactMap({ places[$0] }) where seen.insert([place, target]).inserted {
                requirements[place].append(target)
                dependents[target] += 1
            }
        }
        let byDependents = names.indices.sorted { (dependents[$1], $0) < (dependents[$0], $1) }
        var random = SplitMix(9)
        let others = (0..<180).map { _ in Int(random.next() % UInt64(names.count)) }
        roots = (byDependents.prefix(20) + others).map { names[$0] }
    }
}

/// A contestant with a graph of packages.
protocol WalkContestant: AnyObject {
    static var contestant: Contestant { get }

    init(path: String) throws
    func load(_ graph: PackageGraph) throws
    /// The number of packages that need the package.
    func dependents(of name: String) throws -> UInt64
    /// The sum of the smallest depths of the packages that need the package, up to a depth.
    func dependents(of name: String, depth: Int) throws -> UInt64
    func close() throws
}
