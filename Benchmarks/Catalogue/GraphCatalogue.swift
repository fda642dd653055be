import Foundation
import Hornbeam

@Entity final class Package: ManagedObject {
    @Attribute(.indexed) var name: String
    var version: String
    var architecture: String
    var summary: String
    var installedSize: Int
    var section: Section?
    var dependencies: ManagedSet<Dependency>
}

@Entity final class Section: ManagedObject {
    @Attribute(.unique) var name: String
    var packages: ManagedSet<Package>
}

@Entity final class Dependency: ManagedObject {
    @Attribute(.indexed) var target: String
    var package: Package?
}

/// Packages as objects with relationships.
final class GraphCatalogue: CatalogueContestant {
    static let contestant = Contestant.hornbeam

    private let container: PersistentContainer
    let context: ManagedObjectContext
    /// The IDs of the packages, in the order of insertion.
    private var ids: [ManagedObjectID] = []

    init(path: String) throws {
        let classes: [ManagedObject.Type] = [Package.self, Section.self, Dependency.self]
        container = try .open(ManagedObjectModel(for: classes), classes, at: path)
        context = container.newContext()
    }

    func load(_ packages: [PackageCatalogue.Package]) throws {
        let names = Array(Set(packages.map(\.section))).sorted()
        var sections = BatchInsertRequest(Section.self, from: names) { name, row in row.set(Section.name, name) }
        sections.resultType = .objectIDs
        let sectionIDs = Dictionary(uniqueKeysWithValues: zip(names, try context.execute(sections).objectIDs))
        var request = BatchInsertRequest(Package.self, from: packages) { package, row in
            row.set(Package.name, package.name)
            row.set(Package.version, package.version)
            row.set(Package.architecture, package.architecture)
            row.set(Package.summary, package.summary)
            row.set(Package.installedSize, package.installedSize)
            row.set(Package.section, sectionIDs[package.section])
        }
        request.resultType = .objectIDs
        ids = try context.execute(request).objectIDs
        let dependencies = zip(packages, ids).lazy.flatMap { package, id in package.depends.map { ($0, id) } }
        try context.execute(BatchInsertRequest(Dependency.self, from: dependencies) { dependency, row in
            row.set(Dependency.target, dependency.0)
            row.set(Dependency.package, dependency.1)
        })
    }

    func sizes(of names: [String], prepared: Bool) throws -> UInt64 {
        var sum: UInt64 = 0
        var request = FetchRequest<Package>()
        for name in names {
            request.untyped.predicate = prepared ? Package.name == name : try FetchPredicate(format: "name == %@", name)
            for package in try context.fetch(request) { sum &+= UInt64(package.installedSize) }
        }
        return sum
    }

    func countLibraries() throws -> UInt64 {
        UInt64(try context.count(FetchRequest<Package>().where("installedSize > 1000 AND summary CONTAINS 'library'")))
    }

    func sizeBySection() throws -> UInt64 {
        let request = FetchRequest<Package>().selecting(.sum(of: "installedSize", as: "size"), .count(as: "count")).grouped(by: "section")
        return try context.fetch(request).reduce(0) { sum, row in
            guard case .int(let size)? = row["size"], case .int(let count)? = row["count"] else { return sum }
            return sum &+ UInt64(size) &* UInt64(count)
        }
    }

    func dependencies(on names: [String], prepared: Bool) throws -> UInt64 {
        var sum: UInt64 = 0
        let fromLibraries = try FetchPredicate(format: "package.section.name == 'libs'")
        var request = FetchRequest<Dependency>()
        for name in names {
            request.untyped.predicate = prepared
                ? Dependency.target == name && fromLibraries
                : try FetchPredicate(format: "target == %@ AND package.section.name == 'libs'", name)
            sum &+= UInt64(try context.count(request))
        }
        return sum
    }

    func firstNames(_ times: Int, prepared: Bool) throws -> UInt64 {
        var sum: UInt64 = 0
        let kept = FetchRequest<Package>().where(Package.name >= "libs").sorted(by: "name").limit(100)
        for _ in 0..<times {
            let request = prepared ? kept : try FetchRequest<Package>().where("name >= %@", "libs").sorted(by: "name").limit(100)
            for package in try context.fetch(request) { sum &+= UInt64(package.name.utf8.count) }
        }
        return sum
    }

    func totals(of names: [String]) throws -> UInt64 {
        var sum: UInt64 = 0
        var request = FetchRequest<Package>().selecting(.sum(of: "installedSize", as: "size"), .count(as: "count"))
        for name in names {
            request.untyped.predicate = Package.name == name
            for row in try context.fetch(request) {
                if case .int(let size)? = row["size"], case .int(let count)? = row["count"] { sum &+= UInt64(size) &* UInt64(count) }
            }
        }
        return sum
    }

    func sizeColumns(of names: [String]) throws -> UInt64 {
        var sum: UInt64 = 0
        var request = FetchRequest<Package>().selecting("installedSize")
        for name in names {
            request.untyped.predicate = Package.name == name
            for row in try context.fetch(request) { if case .int(let size)? = row["installedSize"] { sum &+= UInt64(size) } }
        }
        return sum
    }

    func client() throws -> any DayClient { GraphDay(container, ids) }

    func close() throws { try container.close() }
}
