/// What the migration of one store would do: to read before it is done, and to print.
public struct StoreMigrationPlan: Sendable {
    /// What happens to the objects of one entity.
    public struct Step: Hashable, Sendable {
        public enum Way: String, Hashable, Sendable {
            /// The entity is new.
            case created
            /// The table stays as it is.
            case unchanged
            /// Columns are added, removed or renamed; no row is touched.
            case altered
            /// All rows are written anew.
            case rewritten
            /// The entity is removed with its objects.
            case removed
        }

        /// The entity of the new version; of the old one where it is removed.
        public var entity: String
        public var way: Way
        public var rows: Int
        /// Why rows are written anew.
        public var reasons: [String]

        public init(entity: String, way: Way, rows: Int, reasons: [String] = []) {
            self.entity = entity
            self.way = way
            self.rows = rows
            self.reasons = reasons
        }
    }

    public var mapping: MappingModel
    public var steps: [Step]
    /// Relationships and indexes whose entries are written anew, by name.
    public var builtIndexes: [String]
    /// Rows and entries that are written.
    public var rowCount: Int
    /// Bytes that are written, about; they must be free on the disk.
    public var byteCount: Int
    /// The further steps of a chain of versions, in order. What they cost is known when the steps before them are done (MIG-14).
    public var laterMappings: [MappingModel] = []

    public init(mapping: MappingModel, steps: [Step], builtIndexes: [String], rowCount: Int, byteCount: Int) {
        self.mapping = mapping
        self.steps = steps
        self.builtIndexes = builtIndexes
        self.rowCount = rowCount
        self.byteCount = byteCount
    }

    /// True when the time that the migration takes does not depend on the number of objects; of a chain, the time of its first step.
    public var takesConstantTime: Bool { rowCount == 0 }
}

extension StoreMigrationPlan: CustomStringConvertible {
    /// The changes of the model, what each means for the rows, and what all costs.
    public var description: String {
        var lines = [mapping.description]
        for step in steps where step.way != .unchanged && step.way != .created {
            let what: String =
                switch step.way {
                case .altered: "no row is touched"
                case .removed: "removed with \(step.rows == 1 ? "1 object" : "\(step.rows) objects")"
                default: "\(step.rows == 1 ? "1 row is" : "\(step.rows) rows are") written anew: \(step.reasons.joined(separator: "; "))"
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
