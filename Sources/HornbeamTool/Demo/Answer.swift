/// A question to the store, answered: the table, and what it took.
struct Answer {
    let title: String
    /// The fetch that was run, as code.
    let fetch: String
    let table: TextTable
    /// Rows that the store had to read; nil where the store was not asked for rows.
    let rowsRead: Int?
    let elapsed: Duration
    /// What else is worth saying, below the table.
    var remark: String?

    var description: String {
        var figures = [Figures.duration(elapsed)]
        if let rowsRead { figures.append("\(Figures.count(rowsRead, "row")) read") }
        if let remark { figures.append(remark) }
        return """
            \(title)
              \(fetch)
            \(table.description)
              → \(figures.joined(separator: " · "))
            """
    }
}
