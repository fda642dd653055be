/// The progress of long work on a store: a check, a backup, a compaction, a salvage.
public struct StoreProgress: Sendable, Hashable, CustomStringConvertible {
    /// The current part, in a word or two: `pages`, `copying`, the name of an entity.
    public var part: String
    /// The completed amount of the part, in a unit that depends on the part.
    public var done: Int
    /// The size of the part, in the unit of `done`.
    public var total: Int

    /// The progress of one part of the work.
    public init(part: String, done: Int, total: Int) {
        self.part = part
        self.done = done
        self.total = total
    }

    /// From 0 to 1, of this part.
    public var fraction: Double { total <= 0 ? 1 : min(max(Double(done) / Double(total), 0), 1) }

    public var description: String { "\(part): \(Int(fraction * 100)) %" }
}
