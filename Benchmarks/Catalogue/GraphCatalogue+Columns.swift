import Hornbeam

extension GraphCatalogue {
    func sum(of columns: ComputedColumns) throws -> UInt64 {
        switch columns {
        case .longestSummaries: try sum(of: first(by: "length:(summary)"))
        case .mostDependencies: try sum(of: first(by: "dependencies.@count"))
        case .mostLibraries: try sum(of: first(by: "SUBQUERY(dependencies, $d, $d.target BEGINSWITH 'lib').@count"))
        case .targetsBySection:
            try sum(
                of: FetchRequest<Dependency>().selecting("package.section", .count(distinct: "target", as: "n"))
                    .grouped(by: "package.section"))
        case .sectionsWithTarget:
            UInt64(try context.count(FetchRequest<Section>().where("ANY packages.dependencies.target == 'zlib1g'")))
        case .sectionsWithTargets:
            UInt64(try context.count(FetchRequest<Section>().where(
                ComputedColumns.targets.map { "ANY packages.dependencies.target == '\($0)'" }.joined(separator: " AND "))))
        case .largestSections:
            try sum(
                of: FetchRequest<Section>().selecting("name", .expression("n", "packages.@sum.installedSize"))
                    .sorted(by: "n", ascending: false).limit(20))
        case .nameLengths:
            try sum(of: FetchRequest<Package>().selecting("section", .expression("n", "length:(name)")).distinct())
        }
    }

    /// The 20 packages with the largest value of an expression.
    private func first(by expression: String) throws -> FetchRequest<[String: PropertyValue]> {
        try FetchRequest<Package>().selecting("name", .expression("n", expression)).sorted(by: "n", ascending: false).limit(20)
    }

    private func sum(of request: FetchRequest<[String: PropertyValue]>) throws -> UInt64 {
        try context.fetch(request).reduce(0) { sum, row in
            guard case .int(let number)? = row["n"] else { return sum }
            return sum &+ UInt64(number)
        }
    }
}
