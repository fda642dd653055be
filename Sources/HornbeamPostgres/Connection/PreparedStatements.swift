#if Postgres
/// The statements that a connection has executed, by their texts. A statement is prepared at its second use, so that the server parses it once.
struct PreparedStatements {
    enum Use: Equatable {
        /// Sent with its text.
        case text
        /// Prepared under a name before it is executed.
        case prepare(String)
        /// Executed by its name.
        case name(String)
    }

    private enum Entry {
        case usedOnce
        case prepared(String)
    }

    /// The number of texts after which a connection drops those that were used once.
    private static let textsMax = 256
    /// The number of statements that a connection prepares. The others are sent with their texts.
    private static let preparedMax = 128

    private var entries: [String: Entry] = [:]
    private var preparedCount = 0

    /// How a statement is sent now. Statements without parameters, such as BEGIN, cost the server little.
    mutating func use(_ statement: Statement) -> Use {
        if statement.parameters.isEmpty && statement.sql.utf8.count < 40 { return .text }
        switch entries[statement.sql] {
        case .prepared(let name): return .name(name)
        case .usedOnce:
            guard preparedCount < Self.preparedMax else { return .text }
            preparedCount += 1
            let name = "s\(preparedCount)"
            entries[statement.sql] = .prepared(name)
            return .prepare(name)
        case nil:
            if entries.count >= Self.textsMax {
                entries = entries.filter { if case .prepared = $0.value { true } else { false } }
            }
            entries[statement.sql] = .usedOnce
            return .text
        }
    }

    /// Records that the server could not prepare a statement.
    mutating func forget(_ statement: Statement) { entries[statement.sql] = .usedOnce }
}
#endif
