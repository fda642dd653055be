import Hornbeam

/// The known packages by name, version and architecture, with their IDs.
struct PackageDirectory: Sendable {
    private struct Known: Sendable {
        let version: String
        let architecture: String
        /// Nil until the package is saved.
        var id: ManagedObjectID?
        /// True until the dependencies are imported.
        var isPending: Bool
    }

    private var byName: [String: [Known]] = [:]

    init() {}

    /// Makes a directory of the packages in a store.
    init(reading context: ManagedObjectContext) throws {
        for package in try context.fetchLazily(FetchRequest<Package>()) {
            byName[package.name, default: []].append(
                Known(version: package.version, architecture: package.architecture, id: package.objectID, isPending: false))
        }
        context.reset()
    }

    /// Adds a package without an ID; false when it is already known.
    mutating func reserve(_ record: PackageRecord) -> Bool {
        guard index(of: record) == nil else { return false }
        byName[record.name, default: []].append(
            Known(version: record.version, architecture: record.architecture, id: nil, isPending: true))
        return true
    }

    /// Sets the ID of a reserved package.
    mutating func add(_ record: PackageRecord, id: ManagedObjectID) {
        guard let index = index(of: record) else { return }
        byName[record.name]?[index].id = id
    }

    /// Returns the ID of a package and marks its dependencies as imported; nil when they were imported before.
    mutating func claimPending(_ record: PackageRecord) -> ManagedObjectID? {
        guard let index = index(of: record), let known = byName[record.name]?[index], known.isPending else { return nil }
        byName[record.name]?[index].isPending = false
        return known.id
    }

    /// The newest package that satisfies an alternative on a machine with the given architecture.
    func target(of alternative: DependencyAlternative, for architecture: String) -> ManagedObjectID? {
        guard let candidates = byName[alternative.name] else { return nil }
        var best: Known?
        for candidate in candidates {
            guard Self.runs(candidate.architecture, on: architecture, alternative.architectureQualifier),
                alternative.constraint?.admits(candidate.version) ?? true
            else { continue }
            if let best, DebianVersion.compare(candidate.version, best.version) <= 0 { continue }
            best = candidate
        }
        return best?.id
    }

    /// A dependency of a package for all architectures accepts every architecture, because that of the machine is unknown.
    private static func runs(_ candidate: String, on architecture: String, _ qualifier: String?) -> Bool {
        candidate == architecture || candidate == "all" || architecture == "all" || qualifier == "any" || qualifier == candidate
    }

    private func index(of record: PackageRecord) -> Int? {
        byName[record.name]?.firstIndex { $0.version == record.version && $0.architecture == record.architecture }
    }
}

extension DependencyAlternative {
    /// Qualifier, architectures and profiles in the syntax of control files; nil when there are none.
    var restriction: String? {
        var parts: [String] = []
        if let architectureQualifier { parts.append(":\(architectureQualifier)") }
        if !architectures.isEmpty { parts.append("[\(architectures.joined(separator: " "))]") }
        parts += profiles.map { "<\($0.joined(separator: " "))>" }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
