public import HornbeamModel
package import HornbeamStore

/// The stages from any shipped version of a store to the current one (MIG-11, SWD-8).
///
/// ```swift
/// let plan = try MigrationPlan([
///     .lightweight(from: first, to: second),
///     .custom(from: second, to: third) { migration in
///         try migration.forEach("Person") { old in … }
///     },
/// ])
/// let container = try PersistentContainer(name: "Company", plan: plan)
/// ```
/// A completed stage is durable: after an interruption, the migration continues with the next stage. The code of an interrupted stage runs again from
/// its start, so effects outside the store must be repeatable.
public struct MigrationPlan: Sendable {
    /// The stages, in the order in which they run.
    public let stages: [MigrationStage]
    /// The versions before and after the stages.
    public let versions: VersionedModel
    package let steps: [MigrationStep]

    /// A plan of stages. Each stage begins with the version at which the previous one ends.
    ///
    /// - Throws: `invalidMigrationPlan`, with every problem as a detail: a gap between stages, a cycle, two stages with the same first
    ///   version, a mapping that does not match the versions or cannot be inferred.
    public init(_ stages: [MigrationStage]) throws {
        var problems = Self.problems(in: stages)
        var steps: [MigrationStep] = []
        for (number, stage) in stages.enumerated() {
            do { steps.append(try stage.step()) } catch let error as HornbeamError {
                let found = error.details.isEmpty ? [error] : error.details
                problems += found.map { detail in
                    HornbeamError(
                        detail.code, "Stage \(number + 1), \(stage): \(detail.message)", entity: detail.entity, key: detail.key,
                        details: detail.details)
                }
            }
        }
        guard problems.isEmpty else {
            throw HornbeamError(
                .invalidMigrationPlan,
                "The migration plan cannot be executed: \(problems.count == 1 ? "the problem is" : "\(problems.count) problems are") among the details.",
                details: problems)
        }
        self.stages = stages
        self.steps = steps
        versions = try VersionedModel(stages.prefix(1).map(\.source) + stages.map(\.destination))
    }

    /// The classes of the current version; empty if the version is a model instead of a schema.
    public var classes: [ManagedObject.Type] { stages.last?.to.classes ?? [] }

    private static func problems(in stages: [MigrationStage]) -> [HornbeamError] {
        func problem(_ text: String) -> HornbeamError { HornbeamError(.invalidMigrationPlan, text) }
        guard !stages.isEmpty else { return [problem("A migration plan has at least one stage.")] }
        var problems: [HornbeamError] = []
        for (number, stage) in stages.enumerated() {
            let (source, destination) = (stage.source.versionChecksum, stage.destination.versionChecksum)
            if source == destination {
                problems.append(
                    problem(
                        "Stage \(number + 1), \(stage), has the same version at its beginning and its end: a store cannot distinguish them. Give an entity "
                            + "of the new version a version hash modifier."))
                continue
            }
            if let other = stages[..<number].firstIndex(where: { $0.source.versionChecksum == source }) {
                problems.append(problem("Stages \(other + 1) and \(number + 1) both begin with \(stage.source.versionName): one step has one stage."))
            } else if number > 0, stages[number - 1].destination.versionChecksum != source {
                problems.append(
                    problem(
                        "There is a gap: stage \(number) ends with \(stages[number - 1].destination.versionName), and stage \(number + 1) begins with "
                            + "\(stage.source.versionName). Write the stage between them, or put the stages in order."))
            }
            if stages[..<number].contains(where: { $0.source.versionChecksum == destination }) {
                problems.append(problem("There is a cycle: stage \(number + 1), \(stage), leads back to a version that an earlier stage left."))
            }
        }
        return problems
    }
}

extension MigrationPlan: CustomStringConvertible {
    /// The stages, one paragraph each.
    public var description: String {
        zip(stages, steps).map { stage, step in
            "Stage \(stage)\(step.runsCode ? ", with code" : "")\n\(step.mapping)"
        }.joined(separator: "\n")
    }
}
