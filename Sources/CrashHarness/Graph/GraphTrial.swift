import Hornbeam

/// Executes the oracle's steps in a context with the public API, and compares the content of the context with the oracle.
enum GraphTrial {
    /// The number of the newest step that a context shows.
    static func newestStep(in context: ManagedObjectContext) throws -> Int {
        try context.fetch(FetchRequest<Mark>(sortedBy: [.descending("step")]).limit(1)).first?.step ?? 0
    }

    /// Executes one step. Durable on return.
    static func perform(_ step: Int, in context: ManagedObjectContext) throws {
        switch GraphOracle.kind(step) {
        case .save:
            try change(step, in: context)
            try context.save()
        case .batchInsert:
            let request = BatchInsertRequest(Mark.self, from: Array(0..<GraphOracle.batchRows)) { part, row in
                row.set(Mark.step, step)
                row.set(Mark.part, part)
            }
            try context.execute(request)
        case .batchUpdate:
            var request = BatchUpdateRequest(Mark.self, predicate: try FetchPredicate(format: "step == \(step - 1)"))
            request.set(Mark.step, to: step)
            try context.execute(request)
        }
    }

    /// Makes the changes of a step and does not save them.
    static func change(_ step: Int, in context: ManagedObjectContext) throws {
        let author = try author(GraphOracle.author(of: step), in: context)
        author.stamp = step
        try addBook(step, in: context)
        if let moved = try self.book(GraphOracle.movedBook(step), in: context) {
            moved.author = author
            moved.title = "moved by \(step)"
            let tag = try tag(step % GraphOracle.tagCount, in: context)
            if moved.tags.contains(tag) { moved.tags.remove(tag) } else { moved.tags.insert(tag) }
        }
        if let number = GraphOracle.deletedBook(step), let old = try self.book(number, in: context) { context.delete(old) }
        if let number = GraphOracle.deletedAuthor(step), let old = try find(Author.self, number, in: context) { context.delete(old) }
        let old = try FetchRequest<Mark>().where("step < %d", step - GraphOracle.markAge)
        for mark in try context.fetch(old) { context.delete(mark) }
        Mark(context: context).step = step
    }

    /// Inserts the book of a step.
    static func addBook(_ step: Int, in context: ManagedObjectContext) throws {
        let book = Book(context: context)
        book.number = step
        book.title = "book \(step)"
        book.author = try author(GraphOracle.author(of: step), in: context)
        for tag in GraphOracle.tags(of: step) { book.tags.insert(try self.tag(tag, in: context)) }
    }

    private static func author(_ number: Int, in context: ManagedObjectContext) throws -> Author {
        if let author = try find(Author.self, number, in: context) { return author }
        let author = Author(context: context)
        author.number = number
        return author
    }

    private static func tag(_ number: Int, in context: ManagedObjectContext) throws -> Tag {
        if let tag = try find(Tag.self, number, in: context) { return tag }
        let tag = Tag(context: context)
        tag.number = number
        return tag
    }

    private static func book(_ number: Int, in context: ManagedObjectContext) throws -> Book? {
        try find(Book.self, number, in: context)
    }

    private static func find<Object: ManagedObject>(
        _ type: Object.Type, _ number: Int, in context: ManagedObjectContext
    ) throws -> Object? {
        try context.fetch(try FetchRequest<Object>().where("number == %d", number).limit(1)).first
    }

    // MARK: Comparing

    /// Throws unless the content of the context equals the oracle. Relationships are read from both ends.
    static func expect(_ oracle: GraphOracle, in context: ManagedObjectContext) throws {
        let authors = try context.fetch(FetchRequest<Author>())
        let books = try context.fetch(FetchRequest<Book>())
        try expectEqual("authors", Dictionary(authors.map { ($0.number, $0.stamp) }) { first, _ in first }, oracle.authors)
        guard authors.count == oracle.authors.count, books.count == oracle.books.count else {
            throw Finding("an object exists twice after step \(oracle.step)")
        }
        var found: [Int: GraphOracle.BookValue] = [:]
        for book in books {
            guard let author = book.author else { throw Finding("book \(book.number) lost its author") }
            found[book.number] = GraphOracle.BookValue(
                title: book.title, author: author.number, tags: Set(book.tags.map(\.number)))
        }
        try expectEqual("books", found, oracle.books)
        for author in authors {
            let expected = Set(oracle.books.filter { $0.value.author == author.number }.keys)
            try expectEqual("books of author \(author.number)", Set(author.books.map(\.number)), expected)
        }
        for tag in try context.fetch(FetchRequest<Tag>()) {
            let expected = Set(oracle.books.filter { $0.value.tags.contains(tag.number) }.keys)
            try expectEqual("books of tag \(tag.number)", Set(tag.books.map(\.number)), expected)
        }
        let marks = try context.fetch(FetchRequest<Mark>()).map { GraphOracle.MarkValue(step: $0.step, part: $0.part) }
        guard marks.count == oracle.marks.count else { throw Finding("\(marks.count) marks instead of \(oracle.marks.count)") }
        try expectEqual("marks", Set(marks), oracle.marks)
    }

    private static func expectEqual<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) throws {
        guard found == expected else { throw Finding("\(what) are \(found) and should be \(expected)") }
    }
}
