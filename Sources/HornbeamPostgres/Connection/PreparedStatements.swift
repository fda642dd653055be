#if Postgres
/// The statements that a connection has executed, by their texts. A statement is prepared at its second use, so that the server parses it once.
struct PreparedStatements {
    enum Use: Equatable {
        /// Sent with its text.
        case text
        /// Prepared under a name before it is executed. Another statement may be deallocated before that.
        case prepare(String, removing: String?)
        /// Executed by its name.
        case name(String)
    }

    private struct Entry {
        /// Nil for a statement that was used once.
        var name: String?
        /// The number of its last use.
        var lastUse: Int
    }

    /// The number of texts after which a connection drops those that were used once.
    private static let textsMax = 256
    /// The number of statements that the server keeps for a connection. A further one replaces the least recently used one.
    static let preparedMax = 128

    private var entries: [String: Entry] = [:]
    private var preparedCount = 0
    private var useCount = 0
    private var lastName = 0

    /// How a statement is sent now. Statements without parameters, such as BEGIN, cost the server little.
    mutating func use(_ statement: Statement) -> Use {
        if statement.parameters.isEmpty && statement.sql.utf8.count < 40 { return .text }
        useCount += 1
        guard let place = entries.index(forKey: statement.sql) else {
            if entries.count >= Self.textsMax { entries = entries.filter { $0.value.name != nil } }
            entries[statement.sql] = Entry(lastUse: useCount)
            return .text
        }
        entries.values[place].lastUse = useCount
        if let name = entries.values[place].name { return .name(name) }
        lastName += 1
        preparedCount += 1
        // A new name: after an error, the server may still have the removed statement.
        let name = "s\(lastName)"
        entries.values[place].name = name
        return .prepare(name, removing: removeOldest())
    }

    /// Removes the least recently used prepared statement if there are too many. Returns its name.
    private mutating func removeOldest() -> String? {
        guard preparedCount > Self.preparedMax,
            let oldest = entries.filter({ $0.value.name != nil }).min(by: { $0.value.lastUse < $1.value.lastUse })
        else { return nil }
        entries[oldest.key] = nil
        preparedCount -= 1
        return oldest.value.name
    }

    /// Records that the server could not prepare a statement.
    mutating func forget(_ statement: Statement) {
        guard entries[statement.sql]?.name != nil else { return }
        entries[statement.sql] = Entry(lastUse: useCount)
        preparedCount -= 1
    }
}
#endif
