import Hornbeam

/// The first part of an import: packages with their maintainers, sections and tags.
final class PackageImport {
    struct Result: Sendable {
        /// The packages in the store.
        let directory: PackageDirectory
        let importResult: ImportResult
    }

    private let reader: CatalogueReader
    private let context: ManagedObjectContext
    private var packages: PackageDirectory
    private var groups: PackageGroupDirectory
    private var progress: ProgressLine
    private var importResult = ImportResult()

    /// - Parameter context: A context that no other task uses; it is reset after each batch.
    init(_ catalogue: Catalogue, into context: ManagedObjectContext, isSilent: Bool) throws {
        reader = catalogue.reader()
        self.context = context
        packages = try PackageDirectory(reading: context)
        groups = try PackageGroupDirectory(reading: context)
        progress = ProgressLine("importing packages", isSilent: isSilent)
    }

    func run() throws -> Result {
        while true {
            let records = try reader.next(CatalogueImporter.batchSize)
            if records.isEmpty { break }
            try importBatch(records)
            progress.update(reader.fractionRead, Figures.count(importResult.packages, "package"))
        }
        importResult.maintainers = groups.maintainers.count
        importResult.sections = groups.sections.count
        importResult.tags = groups.tags.count
        importResult.textBytes = reader.bytesRead
        importResult.problems = reader.problems
        importResult.problemCount = reader.problemCount
        progress.finish("\(Figures.count(importResult.packages, "package")) in \(Figures.duration(progress.elapsed))")
        return Result(directory: packages, importResult: importResult)
    }

    private func importBatch(_ records: [PackageRecord]) throws {
        let inserted = records.compactMap(insert)
        try context.save()
        groups.storePermanentIDs()
        for (package, record) in inserted { packages.add(record, id: package.objectID) }
        context.reset()
        importResult.packages += inserted.count
        importResult.skippedPackages += records.count - inserted.count
    }

    /// Nil when the package is already known.
    private func insert(_ record: PackageRecord) -> (Package, PackageRecord)? {
        guard packages.reserve(record) else { return nil }
        let package = Package(context: context)
        package.name = record.name
        package.version = record.version
        package.architecture = record.architecture
        package.priority = record.priority
        package.summary = record.summary
        package.homepage = record.homepage
        package.installedSize = Int(record.installedSize ?? 0)
        package.downloadSize = Int(record.downloadSize ?? 0)
        package.isEssential = record.isEssential
        if let name = record.section { package.section = groups.section(name, in: context) }
        if let name = record.maintainer { package.maintainer = groups.maintainer(name, in: context) }
        for name in record.tags { package.tags.insert(groups.tag(name, in: context)) }
        return (package, record)
    }
}
