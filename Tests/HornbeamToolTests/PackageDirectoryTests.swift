import HornbeamModel
import Testing

@testable import HornbeamTool

@Suite struct PackageDirectoryTests {
    private static let origin = ManagedObjectID.StoreIdentity(entityName: "Package", storeIdentifier: nil, entityNumber: -1)

    private func id(_ number: UInt64) -> ManagedObjectID { ManagedObjectID(origin: Self.origin, reference: number) }

    /// A directory with packages named `a`, numbered from 1.
    private func directory(_ packages: [(version: String, architecture: String)]) -> PackageDirectory {
        var directory = PackageDirectory()
        for (index, package) in packages.enumerated() {
            let record = PackageRecord(name: "a", version: package.version, architecture: package.architecture)
            let isNew = directory.reserve(record)
            #expect(isNew)
            directory.add(record, id: id(UInt64(index + 1)))
        }
        return directory
    }

    @Test func aPackageIsKnownByNameVersionAndArchitecture() {
        var directory = directory([("1", "amd64")])
        let same = PackageRecord(name: "a", version: "1", architecture: "amd64")
        let others = [
            PackageRecord(name: "b", version: "1", architecture: "amd64"),
            PackageRecord(name: "a", version: "2", architecture: "amd64"),
            PackageRecord(name: "a", version: "1", architecture: "arm64"),
        ]
        let isNew = ([same] + others).map { directory.reserve($0) }
        #expect(isNew == [false, true, true, true])
    }

    @Test func dependenciesAreDueOnce() {
        var directory = directory([("1", "amd64")])
        let record = PackageRecord(name: "a", version: "1", architecture: "amd64")
        let taken = [directory.claimPending(record), directory.claimPending(record)]
        #expect(taken == [id(1), nil])
    }

    @Test(arguments: [
        (nil, 3), ((.laterOrEqual, "1.5"), 3), ((.earlier, "2.0"), 2), ((.equal, "1.0"), 1), ((.later, "2.0"), nil),
    ] as [((VersionConstraint.Relation, String)?, UInt64?)])
    func theNewestThatSatisfiesTheConstraintIsTheTarget(constraint: (VersionConstraint.Relation, String)?, expected: UInt64?) {
        let directory = directory([("1.0", "all"), ("1.5", "all"), ("2.0", "all")])
        var alternative = DependencyAlternative(name: "a")
        alternative.constraint = constraint.map { VersionConstraint(relation: $0.0, version: $0.1) }
        #expect(directory.target(of: alternative, for: "amd64") == expected.map(id))
    }

    @Test func architecturesMustFit() {
        let directory = directory([("1", "amd64"), ("2", "arm64")])
        var alternative = DependencyAlternative(name: "a")
        #expect(directory.target(of: alternative, for: "amd64") == id(1))
        #expect(directory.target(of: alternative, for: "riscv64") == nil)
        #expect(directory.target(of: alternative, for: "all") == id(2))
        alternative.architectureQualifier = "any"
        #expect(directory.target(of: alternative, for: "riscv64") == id(2))
        alternative.architectureQualifier = "amd64"
        #expect(directory.target(of: alternative, for: "arm64") == id(2))
    }

    @Test func anUnknownNameHasNoTarget() {
        #expect(directory([]).target(of: DependencyAlternative(name: "nothing"), for: "amd64") == nil)
    }
}
