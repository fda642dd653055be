/// The result of an import.
struct ImportResult: Sendable, CustomStringConvertible {
    var packages = 0
    /// Packages that already exist in the store, or occur twice in the catalogue.
    var skippedPackages = 0
    var dependencies = 0
    /// Dependencies whose target is a package of the catalogue.
    var resolvedDependencies = 0
    var maintainers = 0
    var sections = 0
    var tags = 0
    /// The size of the catalogue's decompressed text.
    var textBytes = 0
    /// The first malformed paragraphs.
    var problems: [CatalogueProblem] = []
    var problemCount = 0
    var elapsed = Duration.zero

    /// One line with the figures.
    var description: String {
        let parts = [
            Figures.count(packages, "package"),
            Figures.count(dependencies, "dependency", "dependencies"),
            Figures.count(maintainers, "maintainer"), Figures.count(sections, "section"), Figures.count(tags, "tag"),
        ]
        let objects = packages + dependencies + maintainers + sections + tags
        let rate = elapsed > .zero ? Int(Double(objects) / elapsed.inSeconds) : 0
        return parts.joined(separator: ", ") + " in \(Figures.duration(elapsed)) (\(Figures.count(rate)) objects/s)"
    }

    /// Further lines of the report.
    var remarks: [String] {
        var lines: [String] = []
        if skippedPackages > 0 { lines.append("\(Figures.count(skippedPackages, "package was", "packages were")) there already.") }
        if problemCount > 0 {
            lines.append("\(Figures.count(problemCount, "malformed paragraph")) skipped:")
            lines += problems.map { "  \($0)" }
            if problemCount > problems.count { lines.append("  … and \(Figures.count(problemCount - problems.count)) more") }
        }
        return lines
    }
}
