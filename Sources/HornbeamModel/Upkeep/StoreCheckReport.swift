/// The result of a check of a store.
public struct StoreCheckReport: Sendable, Hashable, CustomStringConvertible {
    /// The number of pages checked.
    public var pages = 0
    /// The number of trees: tables and indexes.
    public var trees = 0
    /// The number of rows, which are objects.
    public var rows = 0
    /// The number of entries in indexes.
    public var indexEntries = 0
    /// Members of to-many relationships.
    public var links = 0
    /// To-ones that refer to a deleted object, as the delete rule "no action" allows. Not a fault of the store.
    public var danglingReferences = 0
    /// One sentence each; empty for an intact store.
    public var problems: [String] = []

    /// An empty report.
    public init() {}

    /// True if the check found no problem.
    public var isSound: Bool { problems.isEmpty }

    public var description: String {
        let counts = "\(rows) rows, \(indexEntries) index entries, \(links) links, \(trees) trees, \(pages) pages"
        let dangling = danglingReferences == 0 ? "" : ", \(danglingReferences) references to deleted objects"
        let verdict = isSound ? "sound" : "\(problems.count) problems"
        return "\(verdict): \(counts)\(dangling)" + problems.map { "\n  " + $0 }.joined()
    }
}
