/// A question to the store, answered: the table, and what it took.
struct Answer {
    let title: String
    /// The fetch that was run, as code.
    let fetch: String
    let table: TextTable
    /// Rows that the store had to look at to find the objects; none where an index knew them.
    let rowsRead: Int
    let elapsed: Duration
    /// Remarks below the table.
    var remark: String?

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
