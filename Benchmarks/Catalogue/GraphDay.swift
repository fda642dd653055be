import Hornbeam

/// A context that serves the requests of a day.
final class GraphDay: DayClient {
    private let context: ManagedObjectContext
    /// The IDs of the packages by number.
    private let ids: [ManagedObjectID]

    init(_ container: PersistentContainer, _ ids: [ManagedObjectID]) {
        context = container.newContext()
        self.ids = ids
    }

    func answer(_ request: DayRequest) throws -> UInt64 {
        switch request {
        case .package(let number): return digest(try context.existingObject(Package.self, with: ids[number]))
        case .named(let name): return digest(try context.first(Package.self, where: Package.name, equals: name))
        case .page(let name):
            let request = FetchRequest<Package>().where(Package.name >= name && Package.installedSize > 100).sorted(by: "name").limit(50)
            return try context.fetch(request).reduce(0) { $0 &+ UInt64($1.name.utf8.count) &+ UInt64($1.installedSize) }
        case .count(let target):
            return UInt64(try context.count(FetchRequest<Dependency>().where(Dependency.target == target && Self.isInLibraries)))
        case .group(let section): return try sizes(of: section)
        case .save(let numbers, let version, let target):
            try save(numbers, version, target)
            return 0
        }
    }

    private static let isInLibraries = Dependency.package[Package.section[Section.name]] == "libs"

    /// Follows both relationships of a package.
    private func digest(_ package: Package?) -> UInt64 {
        guard let package else { return 0 }
        var sum = UInt64(package.version.utf8.count &+ package.installedSize &+ (package.section?.name.utf8.count ?? 0))
        for dependency in package.dependencies { sum &+= UInt64(dependency.target.utf8.count) }
        return sum
    }

    private func sizes(of section: String) throws -> UInt64 {
        let request = FetchRequest<Package>().where(Package.section[Section.name] == section)
            .selecting(.sum(of: "installedSize", as: "size"), .count(as: "count")).grouped(by: "architecture")
        return try context.fetch(request).reduce(0) { sum, row in
            guard case .int(let size)? = row["size"], case .int(let count)? = row["count"] else { return sum }
            return sum &+ UInt64(size) &* UInt64(count)
        }
    }

    private func save(_ numbers: [Int], _ version: String, _ target: String) throws {
        for number in numbers { try context.existingObject(Package.self, with: ids[number]).version = version }
        let added = Dependency(context: context)
        added.target = target
        added.package = try context.existingObject(Package.self, with: ids[numbers[0]])
        try context.save()
    }

    func close() throws {}
}
