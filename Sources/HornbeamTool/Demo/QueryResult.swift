/// The result of a query: a table, and the cost.
struct QueryResult {
    let title: String
    /// The executed fetch as code.
    let fetch: String
    let table: TextTable
    /// The rows that the store read to find the objects; 0 when an index was sufficient.
    let rowsRead: Int
    let elapsed: Duration
    /// A remark below the table.
    var remark: String?

    /// True for equal rows and remarks; the cost may differ.
    func hasSameAnswer(as other: QueryResult) -> Bool {
        title == other.title && table.description == other.table.description && remark == other.remark
    }

    var description: String {
        let rows = rowsRead == 0 ? "found by index, no row read" : "\(Figures.count(rowsRead, "row")) read"
        var figures = [Figures.duration(elapsed), rows]
        if let remark { figures.append(remark) }
        return """
            \(title)
              \(fetch)
            \(table.description)
              → \(figures.joined(separator: " · "))
            """
    }
}
