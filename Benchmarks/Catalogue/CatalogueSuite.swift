import Foundation

/// Rows over the package catalogue of the machine; no rows on a machine without a catalogue.
struct CatalogueSuite {
    let options: Options
    let folder: Folder
    let contestants: [any CatalogueContestant.Type]

    static let rows = [
        Row(id: "K1", title: "import of packages, sections and dependencies", unit: "ms", goal: .atMost(0.8, .sqlite)),
        Row(id: "K2", title: "package by name, reading its size", unit: "ns", goal: .atMost(0.8, .sqlite)),
        Row(id: "K2s", title: "… from a format string, or a new statement", unit: "ns", goal: .atMost(0.8, .sqlite)),
        Row(id: "K3", title: "count, over 1 MB and “library” in the summary", unit: "ms"),
        Row(id: "K4", title: "sum of sizes by section", unit: "ms"),
        Row(id: "K5", title: "dependencies on a name, from one section", unit: "µs", goal: .atMost(0.8, .sqlite)),
        Row(id: "K5s", title: "… from a format string, or a new statement", unit: "µs", goal: .atMost(0.8, .sqlite)),
        Row(id: "K5e", title: "… the searches and the cells in the engine alone", unit: "µs"),
        Row(id: "K5o", title: "… what requests, plans and contexts add to them", unit: "µs", goal: .atMost(1.5)),
        Row(id: "K6", title: "first 100 names from “libs” on, by name", unit: "µs", goal: .atMost(0.8, .sqlite)),
        Row(id: "K6s", title: "… from a format string, or a new statement", unit: "µs", goal: .atMost(0.8, .sqlite)),
        Row(id: "K7", title: "total size and number of the packages of a name", unit: "ns", goal: .atMost(0.8, .sqlite)),
        Row(id: "K7c", title: "sizes of the packages of a name as a column", unit: "ns", goal: .atMost(0.8, .sqlite)),
    ] + ComputedColumns.allCases.map { Row(id: $0.rawValue, title: $0.title, unit: "ms", goal: .atMost(1, .sqlite)) }

    func run(into results: inout Results) throws {
        guard let catalogue = try PackageCatalogue(file: options.catalogue) else {
            return note("This machine has no package catalogue: its rows are left out.")
        }
        var packages = catalogue.packages
        if options.isSmoke { packages = Array(packages.prefix(2_000)) }
        results.declare(Self.rows + DaySuite.rows)
        var random = SplitMix(4)
        let names = (0..<min(packages.count, 10_000)).map { _ in packages[Int(random.next() % UInt64(packages.count))].name }
        for repetition in 0..<options.repetitions {
            note("catalogue of \(packages.count) packages, repetition \(repetition + 1)")
            var stores: [(Contestant, any CatalogueContestant)] = []
            for type in contestants.indices.map({ contestants[($0 + repetition) % contestants.count] }) {
                let store = try type.init(path: try folder.empty("\(type.contestant.rawValue)-catalogue"))
                results.add("K1", type.contestant, try timed { try store.load(packages) }.seconds * 1e3)
                stores.append((type.contestant, store))
            }
            try look(stores, names, &results)
            try lookInEngine(packages, Array(names.prefix(1_000)), &results)
            try DaySuite(options: options, packages: packages).run(stores, into: &results)
            for (_, store) in stores { try store.close() }
        }
        guard let whole = results.median("K5", .hornbeam), let part = results.median("K5e", .hornbeam) else { return }
        results.add("K5o", .hornbeam, whole - part)
    }

    private func lookInEngine(_ packages: [PackageCatalogue.Package], _ names: [String], _ results: inout Results) throws {
        let engine = try EngineDependencies(path: try folder.empty("engine-catalogue"), packages)
        try Look(perRow: 1e6 / Double(names.count)).each(.hornbeam, "K5e", &results) { try engine.count(on: names) }
        results.check("K5", .hornbeam, try engine.count(on: names))
        try engine.close()
        _ = try folder.empty("engine-catalogue")
    }

    private func look(
        _ stores: [(Contestant, any CatalogueContestant)], _ names: [String], _ results: inout Results
    ) throws {
        let few = Array(names.prefix(1_000))
        let name = Look(perRow: 1e9 / Double(names.count))
        for (who, store) in stores { try name.each(who, "K2", &results) { try store.sizes(of: names, prepared: true) } }
        for (who, store) in stores { try name.each(who, "K2s", &results) { try store.sizes(of: names, prepared: false) } }
        for (who, store) in stores { try name.whole(who, "K3", &results) { try store.countLibraries() } }
        for (who, store) in stores { try name.whole(who, "K4", &results) { try store.sizeBySection() } }
        let dependency = Look(perRow: 1e6 / Double(few.count))
        for (who, store) in stores { try dependency.each(who, "K5", &results) { try store.dependencies(on: few, prepared: true) } }
        for (who, store) in stores { try dependency.each(who, "K5s", &results) { try store.dependencies(on: few, prepared: false) } }
        let page = Look(perRow: 1e6 / Double(Self.pages))
        for (who, store) in stores { try page.each(who, "K6", &results) { try store.firstNames(Self.pages, prepared: true) } }
        for (who, store) in stores { try page.each(who, "K6s", &results) { try store.firstNames(Self.pages, prepared: false) } }
        for (who, store) in stores { try name.each(who, "K7", &results) { try store.totals(of: names) } }
        for (who, store) in stores { try name.each(who, "K7c", &results) { try store.sizeColumns(of: names) } }
        for columns in ComputedColumns.allCases {
            for (who, store) in stores { try name.whole(who, columns.rawValue, &results) { try store.sum(of: columns) } }
        }
    }

    /// A single page takes too little time to be measured.
    private static let pages = 200

    /// Runs one row repeatedly, for a profiler: `K2`, `K2s` …, `M1`, `M1r`, with a contestant's name for a rival: `K5@SQLite`.
    func profile(_ row: String, _ type: any CatalogueContestant.Type) throws {
        guard let catalogue = try PackageCatalogue(file: options.catalogue) else { return note("This machine has no package catalogue.") }
        let packages = catalogue.packages
        let store = try type.init(path: try folder.empty("catalogue"))
        try store.load(packages)
        if row.hasPrefix("M1") {
            try DaySuite(options: options, packages: packages).profile(store, reads: row == "M1r")
            return try store.close()
        }
        var random = SplitMix(4)
        let names = (0..<10_000).map { _ in packages[Int(random.next() % UInt64(packages.count))].name }
        let prepared = !row.hasSuffix("s")
        let end = now() + 8
        while now() < end {
            let (seconds, count) = try processorTimed {
                switch row.prefix(2) {
                case "K2": try (store.sizes(of: names, prepared: prepared), names.count).1
                case "K7": try (row == "K7" ? store.totals(of: names) : store.sizeColumns(of: names), names.count).1
                case "K5": try (store.dependencies(on: Array(names.prefix(1000)), prepared: prepared), 1000).1
                case let id where id.hasPrefix("C"):
                    if let columns = ComputedColumns(rawValue: String(id)) { try (store.sum(of: columns), 1).1 } else { 1 }
                default: try (store.firstNames(Self.pages, prepared: prepared), Self.pages).1
                }
            }
            note("\(row): \((seconds * 1e9 / Double(count)).short) ns")
        }
        try store.close()
    }
}

/// A contestant with packages.
protocol CatalogueContestant: AnyObject {
    static var contestant: Contestant { get }

    init(path: String) throws
    func load(_ packages: [PackageCatalogue.Package]) throws
    /// The sum of the sizes of the packages of these names, all versions.
    ///
    /// - Parameter prepared: True to keep the request or the statement; false to make it from text for each name, as in the functions below.
    func sizes(of names: [String], prepared: Bool) throws -> UInt64
    func countLibraries() throws -> UInt64
    /// The sum over sections of the sum of sizes, each times the number of packages in the section.
    func sizeBySection() throws -> UInt64
    /// The number of dependencies on these names in packages of the section “libs”.
    func dependencies(on names: [String], prepared: Bool) throws -> UInt64
    /// The sum of the lengths of the names on one page, fetched a number of times.
    func firstNames(_ times: Int, prepared: Bool) throws -> UInt64
    /// For each name the sum of the sizes of its packages times their number, all added.
    func totals(of names: [String]) throws -> UInt64
    /// The sum of the sizes of the packages of these names, read without objects.
    func sizeColumns(of names: [String]) throws -> UInt64
    /// A client of the store for one thread. The n-th package has number n.
    func client() throws -> any DayClient
    /// The sum of the computed numbers in all results.
    func sum(of columns: ComputedColumns) throws -> UInt64
    func close() throws
}

/// Requests for computed columns.
enum ComputedColumns: String, CaseIterable {
    /// The names of C7.
    static let targets = ["zlib1g", "libc6", "perl", "libgcc-s1"]

    case longestSummaries = "C1"
    case mostDependencies = "C2"
    case targetsBySection = "C3"
    case mostLibraries = "C4"
    case sectionsWithTarget = "C5"
    case nameLengths = "C6"
    case sectionsWithTargets = "C7"
    case largestSections = "C8"

    var title: String {
        switch self {
        case .longestSummaries: "20 packages with the longest summaries"
        case .mostDependencies: "20 packages with the most dependencies"
        case .targetsBySection: "different targets of dependencies, by section"
        case .mostLibraries: "20 packages with the most dependencies on “lib…”"
        case .sectionsWithTarget: "sections with a package that depends on “zlib1g”"
        case .nameLengths: "different pairs of the name's length and the section"
        case .sectionsWithTargets: "sections with packages that depend on each of four names"
        case .largestSections: "20 sections with the largest sums of their packages' sizes"
        }
    }
}
