import Hornbeam

extension ImportSuite {
    static let findOrCreateRows = [
        Row(id: "F1", title: "find or create 100 k objects in one context, as a multiple of inserting them", unit: "×", goal: .atMost(1.5)),
        Row(id: "F1n", title: "… a row", unit: "ns"),
        Row(id: "F1i", title: "insert of the same objects alone, a row", unit: "ns"),
        Row(id: "F1l", title: "cost of a row at 100 k rows as a multiple of that at 25 k", unit: "×", goal: .atMost(1.25)),
    ]

    /// Half of the rows name an object that an earlier row made, as a pending change of the context. Nothing is saved until the end, so the
    /// number of pending changes grows with each row.
    func findOrCreate(_ results: inout Results) throws {
        let count = count
        let many = try perRow(count) { try Self.findOrCreate($0, $1) }
        results.add("F1n", .hornbeam, many)
        let insert = try perRow(count) { try Self.insert($0, $1) }
        results.add("F1i", .hornbeam, insert)
        results.add("F1", .hornbeam, many / insert)
        results.add("F1l", .hornbeam, many / (try perRow(count / 4) { try Self.findOrCreate($0, $1) }))
    }

    /// Nanoseconds of processor time a row, with the save at the end.
    private func perRow(_ count: Int, _ work: (ManagedObjectContext, Int) throws -> Void) throws -> Double {
        let classes: [ManagedObject.Type] = [ImportAuthor.self, ImportBook.self]
        let container = try PersistentContainer.open(ManagedObjectModel(for: classes), classes, at: folder.empty("found"))
        defer { try? container.close() }
        let context = container.newContext()
        // The graph has pending changes before the first row.
        for number in 0..<1_000 {
            let author = ImportAuthor(context: context)
            author.name = "Author \(number)"
            author.born = 1900
        }
        let start = processTime()
        try work(context, count)
        try context.save()
        let taken = processTime() - start
        let books = try context.count(FetchRequest<ImportBook>())
        guard books == (count + 1) / 2 else { throw BenchmarkError("\(books) books were made of \(count) rows.") }
        return taken * 1e9 / Double(count)
    }

    private static func findOrCreate(_ context: ManagedObjectContext, _ count: Int) throws {
        for number in 0..<count {
            let isbn = ImportedBook.isbn(number / 2)
            let book = try context.first(ImportBook.self, where: ImportBook.isbn, equals: isbn) ?? ImportBook(context: context)
            fill(book, isbn, number / 2)
        }
    }

    private static func insert(_ context: ManagedObjectContext, _ count: Int) throws {
        for number in stride(from: 0, to: count, by: 2) {
            let book = ImportBook(context: context)
            fill(book, ImportedBook.isbn(number / 2), number / 2)
            fill(book, ImportedBook.isbn(number / 2), number / 2)
        }
    }

    private static func fill(_ book: ImportBook, _ isbn: String, _ number: Int) {
        book.isbn = isbn
        book.title = "The title of book number \(number)"
        book.year = 1800 + number % 220
        book.pages = 100 + number % 900
        book.price = 0.5
        book.rating = 1
        book.note = "shelf \(number % 977)"
    }
}
