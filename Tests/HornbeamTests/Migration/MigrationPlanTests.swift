import Foundation
import Hornbeam
import HornbeamStore
import Testing

@Suite struct MigrationPlanTests {
    private static func note(_ name: String, _ type: AttributeType = .string, renamedFrom identifier: String? = nil) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            Entity("Note", attributes: [AttributeDescription(name, type, optional: true, renamedFrom: identifier)])
        ])
    }

    private static let versions = try! [note("a"), note("b", renamedFrom: "a"), note("b", .integer32), note("c", .integer32, renamedFrom: "b")]

    private static let number = [EntityMapping(to: "Note", [PropertyMapping("b", from: .converted("b"))])]

    private static func wholePlan() throws -> MigrationPlan {
        try MigrationPlan([
            .lightweight(from: versions[0], to: versions[1]),
            .lightweight(from: versions[1], to: versions[2], label: "numbers", changing: number),
            .custom(from: versions[2], to: versions[3], label: "doubled") { migration in
                try migration.forEach("Note") { (old: ManagedObject, new: ManagedObject) in
                    guard case .int(let value) = try old.value(forKey: "b") else { return }
                    try new.setValue(.int(value * 2), forKey: "c")
                }
            },
        ])
    }

    private static func problems(_ stages: [MigrationStage]) -> [String] {
        let error = hornbeamError { _ = try MigrationPlan(stages) }
        #expect(error?.code == .invalidMigrationPlan)
        return error?.details.map(\.message) ?? []
    }

    @Test("MIG-11, MIG-14: stages run in order, from every version that the store may have", arguments: 0 ..< 4)
    func stagesRunInOrder(start: Int) throws {
        let store = try MigratedStore()
        try store.with(Self.versions[start]) { (context) throws in
            let key = ["a", "b", "b", "c"][start]
            try context.insert("Note", [key: start < 2 ? "21" : 21])
            try context.insert("Note")
        }
        try store.with(Self.wholePlan()) { (context) throws in
            #expect(try context.values("Note", "c") == [.null, start == 3 ? 21 : 42])
        }
        let container = try store.open(Self.versions[3])
        guard case .transactions(let transactions, _) = try container.history.fetch(after: nil) else {
            Issue.record("history is not whole")
            return
        }
        #expect(transactions.filter { $0.kind == .migration }.compactMap(\.label).suffix(1) == (start == 3 ? [] : ["doubled"]))
        try container.close()
    }

    @Test("MIG-11: a plan with a gap, a cycle, two stages for one step or none at all names every fault")
    func contradictoryPlansAreRefused() throws {
        let v = Self.versions
        #expect(Self.problems([]) == ["A migration plan has at least one stage."])
        let gap = Self.problems([.lightweight(from: v[0], to: v[1]), .lightweight(from: v[2], to: v[3])])
        #expect(gap.count == 1 && gap[0].hasPrefix("There is a gap: stage 1 ends with") && gap[0].contains("stage 2 begins with"))
        let double = Self.problems([.lightweight(from: v[0], to: v[1]), .custom(from: v[0], to: v[1]) { _ in }])
        #expect(double.count == 1 && double[0].hasPrefix("Stages 1 and 2 both begin with"))
        let cycle = Self.problems([.lightweight(from: v[0], to: v[1]), .custom(from: v[1], to: v[0]) { _ in }])
        #expect(cycle.count == 1 && cycle[0].hasPrefix("There is a cycle: stage 2"))
        let still = Self.problems([.lightweight(from: v[0], to: v[0])])
        #expect(still.count == 1 && still[0].contains("version hash modifier"))
        let several = Self.problems([.lightweight(from: v[0], to: v[1]), .lightweight(from: v[2], to: v[3]), .custom(from: v[3], to: v[2]) { _ in }])
        #expect(several.count == 2)
    }

    @Test("MIG-3, MIG-6: stages that cannot be inferred, and names and expressions that do not fit, are all named before a store is opened")
    func mappingsThatDoNotFitAreRefused() throws {
        let v = Self.versions
        let inferred = Self.problems([.lightweight(from: v[1], to: v[2], label: "numbers")])
        #expect(inferred.count == 1 && inferred[0].hasPrefix("Stage 1, “numbers”: Note.b: Its type was "))
        let mappings = [EntityMapping(to: "Nota"), EntityMapping(to: "Note", [try PropertyMapping("b", "lenght")])]
        let fitting = Self.problems([.custom(from: v[1], to: v[2], label: "numbers", changing: mappings) { _ in }])
        #expect(fitting.count == 2 && fitting.allSatisfy { $0.hasPrefix("Stage 1, “numbers”: Not") })
    }

    @Test("MOD-13: two parts renamed from one are refused by custom stages too")
    func identifiersUsedTwiceAreRefused() throws {
        let model = try ManagedObjectModel(entities: [
            Entity(
                "Note",
                attributes: [
                    AttributeDescription("x", .string, optional: true, renamedFrom: "a"), AttributeDescription("y", .string, optional: true, renamedFrom: "a"),
                ])
        ])
        let problems = Self.problems([.custom(from: Self.versions[0], to: model) { _ in }])
        #expect(problems.count == 1 && problems[0].contains("“y” is renamed from “a”, and so is another property"))
    }

    @Test("MIG-8: a policy for a mapping that there is not, and a value that no code sets, are refused")
    func policiesWithoutMappingAreRefused() throws {
        let v = Self.versions
        let mapping = try MappingModel(from: v[1], to: v[2], changing: [EntityMapping(to: "Note", [PropertyMapping("b", from: .code)])])
        let problems = Self.problems([.mapping(mapping, policies: ["Note->Not": EntityMigrationPolicy.self])])
        #expect(problems.count == 2)
        #expect(problems[0].contains("There is a policy for the mapping “Note->Not”"))
        #expect(problems[1].contains("Note->Note, b: code must set it"))
    }

    @Test("MIG-4: a plan can be read before the migration: each stage, the cost of the first, and the later mappings")
    func planIsPrinted() throws {
        #expect(
            try Self.wholePlan().description == """
                Stage from the version \(Self.versions[0].versionChecksum) to the version \(Self.versions[1].versionChecksum)
                Note: changed
                  ~ b, renamed from a
                Stage “numbers”
                Note: changed
                  ~ b, converted
                Stage “doubled”, with code
                Note: changed
                  ~ c, renamed from b
                """)
        let store = try MigratedStore()
        try store.with(Self.versions[1]) { (context) throws in try context.insert("Note", ["b": "1"]) }
        let container = try PersistentContainer(name: "plan", plan: Self.wholePlan())
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: store.url)]
        #expect(
            try container.migrationPlan()[store.url]?.description == """
                Stage “numbers”
                Note: changed
                  ~ b, converted
                Note: 1 row is rewritten: “b” is converted
                About 1 row or entry and 2 MiB are written.
                Then:
                Note: changed
                  ~ c, renamed from b
                """)
        try store.with(Self.versions[1]) { (context) throws in #expect(try context.values("Note", "b") == ["1"]) }
    }

    @Test("MIG-11: a chain that fails resumes with the stage that failed; a store of an unknown version is refused")
    func chainResumes() throws {
        struct Refused: Error {}
        let v = Self.versions
        let store = try MigratedStore()
        try store.with(v[0]) { (context) throws in try context.insert("Note", ["a": "21"]) }
        let failing = try MigrationPlan([
            .lightweight(from: v[0], to: v[1]), .lightweight(from: v[1], to: v[2], changing: Self.number),
            .custom(from: v[2], to: v[3], label: "last") { _ in throw Refused() },
        ])
        let error = try #require(hornbeamError { _ = try store.open(failing) })
        #expect(error.code == .migrationFailed)
        #expect(error.underlyingError is Refused)
        #expect(error.message.contains("The stage “last” from"))
        try store.with(v[2]) { (context) throws in #expect(try context.values("Note", "b") == [21]) }
        try store.with(Self.wholePlan()) { (context) throws in #expect(try context.values("Note", "c") == [42]) }
        let other = try MigratedStore()
        try other.with(Self.note("z")) { (context) throws in try context.insert("Note", ["z": "1"]) }
        #expect(hornbeamError { _ = try other.open(Self.wholePlan()) }?.code == .modelReferenceNotFound)
    }
}
