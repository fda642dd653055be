/// A call site that reads objects one at a time, each with a separate lookup: the N + 1 problem.
public struct RowByRowAccess: Sendable, CustomStringConvertible {
    /// The entity of the objects read.
    public let entityName: String
    /// The relationship through which the objects were reached, if any.
    public let relationship: String?
    /// The number of objects read.
    public let count: Int
    /// The call stack, the innermost call first, without calls inside Hornbeam.
    public let callStack: [String]

    /// The innermost call outside Hornbeam.
    public var callSite: String { callStack.first ?? "an unknown place" }

    /// A description of the access, and advice to avoid it.
    public var description: String {
        let advice = relationship.map { "Prefetch “\($0)” in the fetch of the objects that have this relationship." }
            ?? "Fetch them with one request."
        return "\(count) objects of \(entityName) were looked up one at a time by \(callSite). \(advice)"
    }
}
