import HornbeamEngine

/// Row K5e: the searches and the cells of row K5 in the engine alone, without requests, plans and contexts.
final class EngineDependencies {
    /// The only column of both tables: the package of a dependency, and the section of a package.
    private static let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8)])

    private let engine: Engine
    /// Its keys are the bytes of a name, a zero and the number of a dependency.
    private let targets: TreeID
    private let dependencies: TreeID
    private let packages: TreeID
    private let libraries: UInt64

    init(path: String, _ catalogue: [PackageCatalogue.Package]) throws {
        engine = try Engine.open(path, options: EngineOptions())
        let transaction = try engine.begin()
        targets = try transaction.createIndex(named: "target")
        dependencies = try transaction.createTable(named: "dependency", layout: Self.layout)
        packages = try transaction.createTable(named: "package", layout: Self.layout)
        var sections: [String: UInt64] = [:]
        var count: UInt64 = 0
        let row = RowBuffer(layout: Self.layout)
        for (place, package) in catalogue.enumerated() {
            let section = sections[package.section] ?? UInt64(sections.count + 1)
            sections[package.section] = section
            row.reset()
            row.set(0, section)
            try transaction.put(row, key: UInt64(place + 1), in: packages)
            for target in package.depends {
                count += 1
                row.reset()
                row.set(0, UInt64(place + 1))
                try transaction.put(row, key: count, in: dependencies)
                let number = withUnsafeBytes(of: count.bigEndian) { Array($0) }
                guard try transaction.putNew(Array(target.utf8) + [0] + number, [], in: targets) else { throw BenchmarkError("A dependency is there twice.") }
            }
        }
        libraries = sections["libs"] ?? 0
        _ = try transaction.commit()
    }

    /// The number of dependencies on these names in packages of the section “libs”.
    func count(on names: [String]) throws -> UInt64 {
        let snapshot = try engine.snapshot()
        let index = try snapshot.index(targets)
        let dependencyRows = try snapshot.table(dependencies)
        let packageRows = try snapshot.table(packages)
        var sum: UInt64 = 0
        for name in names {
            let bytes = Array(name.utf8)
            for key in try index.suffixes(in: KeyRange(from: bytes + [0], to: bytes + [1]), most: .max) {
                guard let package = try dependencyRows.withRow(key, Self.number), try packageRows.withRow(package, Self.number) == libraries
                else { continue }
                sum += 1
            }
        }
        return sum
    }

    @inline(__always)
    private static func number(_ row: RowView) throws(EngineError) -> UInt64 { row.load(0, as: UInt64.self) }

    func close() throws { try engine.close() }
}
