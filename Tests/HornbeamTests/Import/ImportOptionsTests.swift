import Foundation
import Hornbeam
import Testing

/// Bad rows, cleaning, saving in portions, progress.
@Suite struct ImportOptionsTests {
    private let books = ImportMapping(ShelfBook.self)
        .object(ShelfBook.author, from: "author", ImportMapping(ShelfAuthor.self))
        .objects(ShelfBook.tags, from: "tags", ImportMapping(ShelfTag.self))

    private func row(_ isbn: Int, _ title: PropertyValue = "a title") -> ImportRow { ["isbn": .int(Int64(isbn)), "title": title] }

    private func isbns(_ stack: Stack) throws -> [Int] { try stack.newContext().fetch(ShelfBook.self).map(\.isbn).sorted() }

    /// Rows that are refused, each for another reason, with the code of the error.
    private static let badRows: [(ImportRow, HornbeamError.Code)] = [
        (["title": "no key"], .missingRequiredValue), (["isbn": 5], .missingRequiredValue), (["isbn": "five", "title": "t"], .typeMismatch),
        (["isbn": 5, "title": ""], .stringTooShort), (["isbn": 5, "title": "t", "year": 99], .numberTooSmall),
        (["isbn": 5, "title": "t", "author": ["born": 1]], .missingRequiredValue),
        (["isbn": 5, "title": "", "author": ["name": "new"], "tags": ["new"]], .stringTooShort),
        (["isbn": 5, "title": "t", "author": .array([["name": "a"], ["name": "b"]])], .typeMismatch),
    ]

    @Test("SEED-5: a bad row is skipped, reported, and leaves nothing", arguments: 0..<8)
    func skipped(bad: Int) throws {
        let stack = try Shelves.stack(.inMemory)
        let (refused, code) = Self.badRows[bad]
        let report = try stack.newContext().importRows(
            [row(1), refused, row(2)], with: books, options: ImportOptions(onRefusal: .skip))
        #expect(report.inserted == 2 && report.refusedCount == 1 && report.rows == 3 && report.relatedInserted == 0)
        #expect(report.refused.map(\.number) == [2])
        let error = try #require(report.refused.first?.error)
        #expect(error.code == code || error.details.contains { $0.code == code }, "\(error)")
        #expect(try isbns(stack) == [1, 2])
        let context = stack.newContext()
        #expect(try context.count(ShelfAuthor.self) == 0 && context.count(ShelfTag.self) == 0)
    }

    @Test("SEED-5: a bad row for an existing object leaves its values and its relationships", arguments: StoreKind.allCases)
    func skippedEdit(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let good: ImportRow = ["isbn": 1, "title": "one", "year": 1818, "author": ["name": "a", "born": 1797], "tags": ["x", "y"]]
        _ = try context.importRows([good], with: books)
        let bad: ImportRow = ["isbn": 1, "title": "", "year": 1999, "author": ["name": "b"], "tags": ["z"]]
        let worse: ImportRow = ["isbn": 1, "title": "", "author": ["name": "a", "born": 5]]
        let report = try context.importRows([bad, worse], with: books, options: ImportOptions(onRefusal: .skip))
        #expect(report.refusedCount == 2 && report.relatedInserted == 0 && report.relatedUpdated == 0)
        #expect(!context.hasChanges)
        #expect(try context.importRows([good], with: books).unchanged == 1)
        #expect(try context.count(ShelfAuthor.self) == 1 && context.count(ShelfTag.self) == 2)
    }

    @Test("SEED-5: a bad row stops the import; all or nothing, or what was saved", arguments: StoreKind.allCases)
    func stopped(kind: StoreKind) throws {
        let rows = (1...10).map { row($0) } + [row(11, 5)] + [row(12)]
        let whole = try Shelves.stack(kind)
        let context = whole.newContext()
        let error = hornbeamError { _ = try context.importRows(rows, with: books) }
        #expect(error?.message.hasPrefix("Row 11 of the import is refused") == true && !context.hasChanges)
        #expect(try isbns(whole) == [])
        let portions = try Shelves.stack(kind)
        _ = hornbeamError { _ = try portions.newContext().importRows(rows, with: books, options: ImportOptions(saving: .every(4))) }
        #expect(try isbns(portions) == Array(1...8))
    }

    @Test("SEED-5: the caller saves, or a context with changes is refused", arguments: Setting.contexts)
    func byCaller(setting: Setting) throws {
        let context = setting.context(of: try Shelves.stack(setting.kind))
        let pending = Shelves.book(100, in: context)
        #expect(hornbeamError { _ = try context.importRows([row(1)], with: books) }?.code == .unsupportedRequest)
        #expect(pending.isInserted)
        let report = try context.importRows([row(1), row(100, "changed")], with: books, options: ImportOptions(saving: .byCaller))
        #expect((report.inserted, report.updated) == (1, 1))
        #expect(context.insertedObjects.count == 2 && pending.title == "changed")
        context.rollback()
        #expect(try context.count(ShelfBook.self) == 0)
    }

    @Test("SEED-5: cleaning deletes what did not come, in its scope; a dry run and a stop delete nothing", arguments: StoreKind.allCases)
    func cleaning(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        let context = stack.newContext()
        _ = try context.importRows((1...6).map { row($0) }, with: books)
        func clean(_ cleaning: ImportCleaning, saving: ImportOptions.Saving = .once) throws -> ImportReport {
            try context.importRows([row(1), row(2), row(7)], with: books, options: ImportOptions(saving: saving, cleaning: cleaning))
        }
        let dry = try clean(ImportCleaning(isDryRun: true))
        #expect(dry.cleaned.count == 4 && dry.deleted == 0 && dry.cleaning == .dryRun)
        #expect(try isbns(stack) == [1, 2, 3, 4, 5, 6, 7])
        let stopped = try clean(ImportCleaning(allows: { ids in ids.count < 4 }))
        #expect(stopped.cleaned.count == 4 && stopped.deleted == 0 && stopped.cleaning == .stopped)
        let some = try clean(ImportCleaning(.matching(ShelfBook.isbn > 4)))
        #expect(some.deleted == 2 && some.cleaning == .done)
        #expect(try isbns(stack) == [1, 2, 3, 4, 7])
        #expect(throws: CancellationError.self) { try clean(ImportCleaning(allows: { _ in throw CancellationError() })) }
        #expect(try clean(ImportCleaning(), saving: .every(1)).deleted == 2)
        #expect(try isbns(stack) == [1, 2, 7])
    }

    @Test("SEED-5: cleaning keeps the object of a refused row, and deletes nothing when that object is unknown", arguments: StoreKind.allCases)
    func cleaningBesideBadRows(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        _ = try stack.newContext().importRows((1...3).map { row($0) }, with: books)
        let options = ImportOptions(onRefusal: .skip, cleaning: ImportCleaning())
        let known = try stack.newContext().importRows([row(1), row(2, "")], with: books, options: options)
        #expect(known.deleted == 1 && known.refusedCount == 1)
        #expect(try isbns(stack) == [1, 2])
        let unknown = try stack.newContext().importRows([row(1), ["title": "no key"]], with: books, options: options)
        #expect(unknown.deleted == 0 && unknown.cleaning == .unsafe)
        #expect(try isbns(stack) == [1, 2])
    }

    @Test("SEED-5, ASY-2: the progress counts rows, and its cancellation ends the import", arguments: StoreKind.allCases)
    func progress(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        let progress = Progress(totalUnitCount: -1)
        _ = try stack.newContext().importRows((0..<1000).map { row($0) }, with: books, options: ImportOptions(progress: progress))
        #expect(progress.completedUnitCount == 1000 && progress.totalUnitCount == 1000 && progress.isFinished)
        let cancelled = Progress(totalUnitCount: -1)
        cancelled.cancel()
        #expect(throws: CancellationError.self) {
            try stack.newContext().importRows((2000..<3000).map { row($0) }, with: books, options: ImportOptions(progress: cancelled))
        }
        #expect(try isbns(stack).count == 1000)
    }

    @Test("SEED-5, MRG-8: an import merges with objects that another context saves first", arguments: StoreKind.allCases)
    func concurrentImports(kind: StoreKind) throws {
        let stack = try Shelves.stack(kind)
        let context = stack.newContext()
        _ = try context.importRows([row(1, "ours"), row(2)], with: books, options: ImportOptions(saving: .byCaller))
        _ = try stack.newContext().importRows([["isbn": 1, "title": "theirs", "year": 1818], row(3)], with: books)
        try context.save()
        #expect(try isbns(stack) == [1, 2, 3])
        let book = try #require(try stack.newContext().object(ShelfBook.self, key: 1))
        #expect(book.title == "ours" && book.year == 1818)
    }

    @Test("SEED-5: a mapping that does not fit the model is refused before any row")
    func badMappings() throws {
        let context = try Shelves.stack(.inMemory).newContext()
        func code(_ mapping: ImportMapping<ShelfBook, ImportRow>) -> HornbeamError.Code? {
            hornbeamError { _ = try context.importRows([], with: mapping) }?.code
        }
        #expect(code(books.field(Attribute<String>("titel"))) == .unknownKey)
        #expect(code(books.field(Attribute<String>("author"))) == .typeMismatch)
        #expect(code(books.object(ToOne<ShelfTag>("author"), ImportMapping(ShelfTag.self))) == .typeMismatch)
        #expect(code(books.object(ToOne<ShelfTag>("title"), ImportMapping(ShelfTag.self))) == .typeMismatch)
    }
}
