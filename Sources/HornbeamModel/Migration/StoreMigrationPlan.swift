/// A description of the migration of one store. It can be examined or printed before the migration is executed.
public struct StoreMigrationPlan: Sendable {
    /// The migration of the objects of one entity.
    public struct Step: Hashable, Sendable {
        /// The kinds of migration of an entity's rows.
        public enum Way: String, Hashable, Sendable {
            /// The entity is new.
            case created
            /// The table does not change.
            case unchanged
            /// Columns are added, removed or renamed; no row is written.
            case altered
            /// All rows are rewritten.
            case rewritten
            /// The entity is removed with its objects.
            case removed
        }

        /// The entity of the new version; of the old one if it is removed.
        public var entity: String
        /// The kind of migration of the rows.
        public var way: Way
        /// The number of the entity's objects.
        public var rows: Int
        /// The reasons for rewriting the rows.
        public var reasons: [String]

        /// A step for an entity.
        public init(entity: String, way: Way, rows: Int, reasons: [String] = []) {
            self.entity = entity
            self.way = way
            self.rows = rows
            self.reasons = reasons
        }
    }

    /// The mapping that the migration executes.
    public var mapping: MappingModel
    /// One step for each entity.
    public var steps: [Step]
    /// Relationships and indexes whose entries are rebuilt, by name.
    public var builtIndexes: [String]
    /// Rows and entries that are written.
    public var rowCount: Int
    /// The approximate number of bytes written. The disk needs as much free space.
    public var byteCount: Int
    /// The name of the stage, if the migration follows a migration plan.
    public var label: String?
    /// True when all objects are copied and the app's code changes the copy.
    public var runsCode = false
    /// The later steps of a chain of versions or of a migration plan, in order. Their cost is not known before the earlier steps
    /// are executed (MIG-14).
    public var laterMappings: [MappingModel] = []

    /// A plan with the given parts.
    public init(mapping: MappingModel, steps: [Step], builtIndexes: [String], rowCount: Int, byteCount: Int) {
        self.mapping = mapping
        self.steps = steps
        self.builtIndexes = builtIndexes
        self.rowCount = rowCount
        self.byteCount = byteCount
    }

    /// True when the duration does not depend on the number of objects; for a chain, the duration of its first step.
    public var takesConstantTime: Bool { rowCount == 0 }
}

extension StoreMigrationPlan: CustomStringConvertible {
    /// The changes of the model, the migration of the rows for each, and the total cost.
    public var description: String {
        var lines = (label.map { ["Stage “\($0)”"] } ?? []) + [mapping.description]
        if runsCode { lines.append("All objects are copied, and code changes the copy.") }
        for step in steps where step.way != .unchanged && step.way != .created && !(runsCode && step.way == .altered) {
            let what: String =
                switch step.way {
                case .altered: "no row is touched"
                case .removed: "removed with \(step.rows == 1 ? "1 object" : "\(step.rows) objects")"
                default: "\(step.rows == 1 ? "1 row is" : "\(step.rows) rows are") rewritten: \(step.reasons.joined(separator: "; "))"
                }
            lines.append("\(step.entity): \(what)")
        }
        lines += builtIndexes.map { "\($0): built from the rows" }
        lines.append(
            takesConstantTime
                ? "The time does not depend on the number of objects."
                : "About \(rowCount == 1 ? "1 row or entry" : "\(rowCount) rows and entries") and \((byteCount + 1_048_575) >> 20) MiB are written.")
        for mapping in laterMappings { lines += ["Then:", mapping.description] }
        return lines.joined(separator: "\n")
    }
}
