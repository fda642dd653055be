import Hornbeam

/// The demo's queries of the package catalogue, through the public API.
struct CatalogueQueries {
    let context: ManagedObjectContext
    /// The word to search in the names of maintainers.
    let word: String
    /// The package whose dependents are listed.
    let packageName: String

    /// Executes all queries in order and passes each answer to `show`.
    func runAll(_ show: (QueryResult) -> Void) throws {
        show(try packagesPerSection())
        show(try largestPackages())
        show(try packagesOfMaintainers())
        show(try mostDependedUpon())
        show(try reverseDependencies())
        show(try packagesWithoutDependencies())
    }

    private func packagesPerSection() throws -> QueryResult {
        var table = TextTable([.text("section"), .number("packages")])
        let clock = Stopwatch(context)
        let sections = try context.fetch(FetchRequest<Section>())
        let counted = sections.map { (name: $0.name, count: $0.packages.count) }
        let sorted = counted.sorted { ($1.count, $0.name) < ($0.count, $1.name) }
        for section in sorted.prefix(12) { table.append([section.name, Figures.count(section.count)]) }
        return clock.answer(
            "Packages per section", fetch: "FetchRequest<Section>(), then section.packages.count of each", table,
            remark: "\(table.rows.count) of \(Figures.count(sections.count, "section")); the counts load no package")
    }

    private func largestPackages() throws -> QueryResult {
        var table = TextTable([.text("package"), .text("version", widthMax: 28), .number("installed"), .text("section")])
        let request = FetchRequest<Package>().sorted(by: "installedSize", ascending: false).limit(20)
        let clock = Stopwatch(context)
        for package in try context.fetch(request) {
            table.append([package.name, package.version, Figures.bytes(package.installedSize), package.section?.name ?? ""])
        }
        return clock.answer(
            "The 20 largest packages", fetch: #"FetchRequest<Package>().sorted(by: "installedSize", ascending: false).limit(20)"#, table)
    }

    private func packagesOfMaintainers() throws -> QueryResult {
        var table = TextTable([.text("maintainer", widthMax: 44), .number("packages")])
        let request = try FetchRequest<Package>().where("maintainer.name CONTAINS[cd] %@", word)
        let clock = Stopwatch(context)
        var counts: [String: Int] = [:]
        let packages = try context.fetch(request)
        for package in packages { counts[package.maintainer?.name ?? "", default: 0] += 1 }
        for (name, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }).prefix(10) {
            table.append([name, Figures.count(count)])
        }
        return clock.answer(
            "Packages whose maintainer's name contains '\(word)', ignoring case and accents",
            fetch: #"FetchRequest<Package>().where("maintainer.name CONTAINS[cd] %@", "\#(word)")"#, table,
            remark: "\(Figures.count(packages.count, "package")) by \(Figures.count(counts.count, "maintainer"))")
    }

    private func mostDependedUpon() throws -> QueryResult {
        var table = TextTable([.text("package"), .number("dependencies on it"), .text("summary", widthMax: 50)])
        let clock = Stopwatch(context)
        let packages = try context.fetch(FetchRequest<Package>())
        var ranking = TopList<Package>(count: 12)
        for package in packages { ranking.add(package, package.dependents.count) }
        for (package, count) in ranking.sorted {
            table.append([package.name, Figures.count(count), package.summary ?? ""])
        }
        return clock.answer(
            "The most depended-upon packages", fetch: "FetchRequest<Package>(), then package.dependents.count of each", table,
            remark: "\(Figures.count(packages.count, "count")), no dependency loaded")
    }

    private func reverseDependencies() throws -> QueryResult {
        var table = TextTable([.number("depth"), .number("packages"), .text("among them", widthMax: 70)])
        let request = try FetchRequest<Package>().where("name == %@", packageName)
        let clock = Stopwatch(context)
        var frontier = try context.fetch(request)
        var seen = Set(frontier.map(\.objectID))
        for depth in 1...3 {
            frontier = packagesDependingOn(frontier).filter { seen.insert($0.objectID).inserted }
            let names = frontier.prefix(6).map(\.name).joined(separator: ", ")
            table.append([String(depth), Figures.count(frontier.count), names])
        }
        return clock.answer(
            "What depends on \(packageName), directly and through others, to depth 3",
            fetch: #"FetchRequest<Package>().where("name == %@", "\#(packageName)"), then package.dependents → dependency.package"#, table,
            remark: "Depends and Pre-Depends only")
    }

    /// The packages that depend on one of `packages`, each once, sorted by name.
    private func packagesDependingOn(_ packages: [Package]) -> [Package] {
        var found: Set<Package> = []
        for dependency in packages.lazy.flatMap(\.dependents) {
            guard dependency.kind == "Depends" || dependency.kind == "Pre-Depends" else { continue }
            if let package = dependency.package { found.insert(package) }
        }
        return found.sorted { $0.name < $1.name }
    }

    private func packagesWithoutDependencies() throws -> QueryResult {
        var table = TextTable([.text("package"), .number("installed"), .text("summary", widthMax: 60)])
        let request = try FetchRequest<Package>().where("dependencies.@count == 0").sorted(by: "installedSize", ascending: false)
        let clock = Stopwatch(context)
        let packages = try context.fetch(request)
        for package in packages.prefix(8) {
            table.append([package.name, Figures.bytes(package.installedSize), package.summary ?? ""])
        }
        return clock.answer(
            "Packages with no dependency at all",
            fetch: #"FetchRequest<Package>().where("dependencies.@count == 0").sorted(by: "installedSize", ascending: false)"#, table,
            remark: "\(table.rows.count) of \(Figures.count(packages.count, "package"))")
    }
}

/// Measures the time of one query on a context, and the rows that it reads.
struct Stopwatch {
    private let context: ManagedObjectContext
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private let rowsBefore: Int

    init(_ context: ManagedObjectContext) {
        self.context = context
        rowsBefore = context.fetchCounters.rowsRead
        start = clock.now
    }

    var elapsed: Duration { clock.now - start }
    var rowsRead: Int { context.fetchCounters.rowsRead - rowsBefore }

    func answer(_ title: String, fetch: String, _ table: TextTable, remark: String? = nil) -> QueryResult {
        let elapsed = elapsed
        return QueryResult(title: title, fetch: fetch, table: table, rowsRead: rowsRead, elapsed: elapsed, remark: remark)
    }
}

/// Collects the elements with the highest scores.
struct TopList<Element> {
    private let count: Int
    /// Highest score first; of equal scores, the earlier element first.
    private(set) var sorted: [(element: Element, score: Int)] = []

    init(count: Int) { self.count = count }

    mutating func add(_ element: Element, _ score: Int) {
        if sorted.count == count, let last = sorted.last, last.score >= score { return }
        let place = sorted.firstIndex { $0.score < score } ?? sorted.count
        sorted.insert((element, score), at: place)
        if sorted.count > count { sorted.removeLast() }
    }
}
