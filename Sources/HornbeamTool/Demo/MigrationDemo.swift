import Foundation
import Hornbeam

/// Migrates a copy of the catalogue's store to a second version of its model.
struct MigrationDemo {
    let storePath: String

    struct Outcome: Equatable, CustomStringConvertible {
        var packages = 0
        var mailboxes = 0
        var elapsed = Duration.zero

        var description: String {
            "Done in \(Figures.duration(elapsed)): \(Figures.count(packages, "package")) with a label, "
                + "\(Figures.count(mailboxes, "mailbox", "mailboxes")). The copy is removed; the store keeps its first version."
        }
    }

    /// - Parameter report: Receives the plan before anything is written.
    func run(_ report: (String) -> Void) throws -> Outcome {
        let copy = URL(filePath: storePath).deletingPathExtension().path + "-second.hornbeam"
        let files = FileManager.default
        try? files.removeItem(atPath: copy)
        try files.copyItem(atPath: storePath, toPath: copy)
        defer { try? files.removeItem(atPath: copy) }
        let container = try PersistentContainer(name: "second", plan: Self.plan())
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: URL(filePath: copy))]
        for plan in try container.migrationPlan().values { report(plan.description) }
        let clock = ContinuousClock()
        var outcome = Outcome()
        outcome.elapsed = try clock.measure { try container.loadPersistentStores() }
        (outcome.packages, outcome.mailboxes) = try container.read { context in
            (
                try context.count(FetchRequest<ManagedObject>(entityName: "Package").where("label != nil")),
                try context.count(FetchRequest<ManagedObject>(entityName: "Mailbox"))
            )
        }
        try container.close()
        return outcome
    }

    /// A renamed attribute, a required attribute computed from two others, and a split entity.
    static func plan() throws -> MigrationPlan {
        try MigrationPlan([
            .custom(
                from: CatalogueModel.make(), to: secondVersion(), label: "mailboxes",
                changing: [EntityMapping(to: "Package", [PropertyMapping("label", label)])]
            ) { migration in
                try migration.forEach("Maintainer") { (old: ManagedObject, new: ManagedObject) in
                    let address = try old.value(forKey: "address")
                    guard !address.isNull else { return }
                    let mailbox = try migration.destination.insert(entityNamed: "Mailbox")
                    try mailbox.setValue(address, forKey: "address")
                    try mailbox.setValue(new, forKey: "maintainer")
                }
            },
        ])
    }

    /// `libc6 2.36-9`
    @Sendable private static func label(of package: EvaluatedValue) throws -> PropertyValue {
        guard case .object(let package) = package, case .value(.string(let name)) = try package.evaluatedValue(forKey: "name"),
            case .value(.string(let version)) = try package.evaluatedValue(forKey: "version")
        else { return .null }
        return .string("\(name) \(version)")
    }

    static func secondVersion() throws -> ManagedObjectModel {
        var definition = try CatalogueModel.make().definition
        for index in definition.entities.indices {
            switch definition.entities[index].name {
            case "Package":
                definition.entities[index].attributes.append(AttributeDescription("label", .string))
                for place in definition.entities[index].attributes.indices where definition.entities[index].attributes[place].name == "summary" {
                    definition.entities[index].attributes[place].name = "synopsis"
                    definition.entities[index].attributes[place].renamingIdentifier = "summary"
                }
            case "Maintainer":
                definition.entities[index].attributes.removeAll { $0.name == "address" }
                definition.entities[index].uniquenessConstraints = []
                definition.entities[index].relationships += Entity("Maintainer") {
                    ToMany("mailboxes", to: "Mailbox", inverse: "maintainer", deleteRule: .cascade)
                }.relationships
            default: break
            }
        }
        definition.entities.append(
            Entity("Mailbox") {
                Attribute("address", .string)
                ToOne("maintainer", to: "Maintainer", inverse: "mailboxes")
            })
        return try ManagedObjectModel(definition)
    }
}
