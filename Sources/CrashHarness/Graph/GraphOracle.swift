/// The expected object graph after each step, computed without a store. With it, the whole content of a reopened store can be checked.
struct GraphOracle: Equatable {
    struct BookValue: Equatable {
        var title: String
        var author: Int
        var tags: Set<Int>
    }

    struct MarkValue: Hashable {
        var step: Int
        var part: Int
    }

    /// The kinds of step.
    enum Kind {
        case save
        case batchInsert
        case batchUpdate
    }

    static let tagCount = 5
    static let batchRows = 12
    /// A save deletes the marks that are older than this number of steps.
    static let markAge = 30

    private(set) var step = 0
    private(set) var authors: [Int: Int] = [:]
    private(set) var books: [Int: BookValue] = [:]
    private(set) var marks: Set<MarkValue> = []

    static func kind(_ step: Int) -> Kind {
        switch step % 8 {
        case 5: .batchInsert
        case 6: .batchUpdate
        default: .save
        }
    }

    // The objects that a save uses, derived from the number of the step.
    static func author(of book: Int) -> Int { book % 7 }
    static func tags(of book: Int) -> Set<Int> { [book % tagCount, book / tagCount % tagCount] }
    static func movedBook(_ step: Int) -> Int { step - 3 }
    static func movedTo(_ step: Int) -> Int { author(of: step) }
    static func deletedBook(_ step: Int) -> Int? { step % 4 == 0 ? step - 9 : nil }
    static func deletedAuthor(_ step: Int) -> Int? { step % 11 == 10 ? (step + 3) % 7 : nil }

    mutating func advance(to last: Int) {
        while step < last { advance() }
    }

    private mutating func advance() {
        step += 1
        switch Self.kind(step) {
        case .save: save()
        case .batchInsert: for part in 0..<Self.batchRows { marks.insert(MarkValue(step: step, part: part)) }
        case .batchUpdate:
            marks = Set(marks.map { $0.step == step - 1 ? MarkValue(step: step, part: $0.part) : $0 })
        }
    }

    private mutating func save() {
        authors[Self.author(of: step)] = step
        books[step] = BookValue(title: "book \(step)", author: Self.author(of: step), tags: Self.tags(of: step))
        let moved = Self.movedBook(step)
        if books[moved] != nil {
            books[moved]!.author = Self.movedTo(step)
            books[moved]!.title = "moved by \(step)"
            books[moved]!.tags.formSymmetricDifference([step % Self.tagCount])
        }
        if let deleted = Self.deletedBook(step) { books[deleted] = nil }
        if let deleted = Self.deletedAuthor(step), authors.removeValue(forKey: deleted) != nil {
            books = books.filter { $0.value.author != deleted }
        }
        marks = marks.filter { $0.step >= step - Self.markAge }
        marks.insert(MarkValue(step: step, part: 0))
    }
}
