import Foundation
import Hornbeam
import HornbeamLists
import Testing

/// The code of `Docs/Lists.md`.
@Suite @MainActor struct ListsTests {
    @Entity final class Book: ManagedObject {
        var title: String
        var shelf: String
        var rank: Int = 0
    }

    private let container: PersistentContainer
    private var context: ManagedObjectContext { container.viewContext }

    init() throws {
        container = try .inMemory(for: Book.self)
        for (number, title) in ["Emma", "Persuasion", "Iliad"].enumerated() {
            _ = Book(in: context, title: title, shelf: title == "Iliad" ? "poems" : "novels", rank: number)
        }
        try context.save()
    }

    @Test func terminalList() throws {
        let context = context
        // snippet
        let list = TerminalList(width: 80, height: 24)
        let request = FetchRequest<Book>().sorted(by: \.shelf).sorted(by: \.title)
        let source = try ListDataSource(request, in: context, sectionedBy: "shelf", view: list) { line, book in
            line.text = book.title
        }
        source.onHasResultsChange = { hasRows in list.header = hasRows ? nil : "No books." }
        source.onSelectionChange = { book in print(book?.title ?? "nothing is selected") }
        try source.startVending()           // shows the rows, and each change from now on
        source.selectRow(at: [0, 1])
        source.stopVending()
        // end
        #expect(source.selectedObject?.title == "Persuasion" && list.lineCount == 5)
    }

    @Test func longList() throws {
        let context = context
        // snippet
        let list = TerminalList(width: 80, height: 40)
        let request = FetchRequest<Book>().sorted(by: \.shelf).sorted(by: \.title).batches(of: 20)
        let source = try ListDataSource(request, in: context, sectionedBy: "shelf", view: list) { line, book in line.text = book.title }
        source.sectionTitle = { section in "\(section.name) (\(section.count))" }
        try source.startVending()
        // end
        #expect(list.lineCount == 5 && list.contents?.title(ofSection: 0) == "novels (2)")
    }

    // snippet
    final class TitleBar: ListView {
        var contents: ListContents<String>?

        func makeCell(identifier: String) -> String { "" }

        func reloadList() { print(contents?.rowCount ?? 0, "books") }
    }
    // end

    @Test func smallView() throws {
        let source = try ListDataSource(FetchRequest<Book>().sorted(by: \.title), in: context, view: TitleBar()) { $0 = $1.title }
        try source.startVending()
        #expect(source.view.contents?.cell(at: [0, 0]) == "Emma")
    }

    @Test func htmlList() throws {
        let context = context
        var sent: [HTMLFragment] = []
        func send(_ fragments: [HTMLFragment]) { sent = fragments }
        // snippet
        let list = HTMLList(id: "books")
        list.onUpdate = { fragments in send(fragments) }
        let source = try ListDataSource(FetchRequest<Book>().sorted(by: \.title), in: context, view: list) { row, book in
            row.fields = [.init("title", book.title), .init("shelf", book.shelf)]
        }
        source.cellIdentifier = { $0.shelf == "poems" ? "poem" : "novel" }
        try source.startVending()
        let page = "<main>\(list.html)</main>"
        // end
        #expect(page.contains("class=\"poem\"") && sent.count == 1)
    }

    @Test func movesByTheUser() throws {
        let context = context
        let source = try ListDataSource(FetchRequest<Book>().sorted(by: \.rank), in: context, view: RecordingList()) { $0.text = $1.title }
        try source.startVending()
        let (path, newPath) = (IndexPath(indexes: [0, 0]), IndexPath(indexes: [0, 2]))
        source.view.dragRow(from: path, to: newPath)
        // snippet
        source.moveRowByUser(from: path, to: newPath) { moved in
            var books = source.results.fetchedObjects ?? []
            books.remove(at: path[1])
            books.insert(moved, at: newPath[1])
            for (rank, book) in books.enumerated() { book.rank = rank }
        }
        // end
        #expect(source.view.lines == [": Persuasion, Iliad, Emma"] && source.view.isConsistent)
    }

    @Test func recordedCalls() throws {
        let context = context
        // snippet
        let list = RecordingList()
        let source = try ListDataSource(FetchRequest<Book>().sorted(by: \.title), in: context, view: list) { $0.text = $1.title }
        try source.startVending()
        _ = Book(in: context, title: "Dubliners", shelf: "novels")
        context.processPendingChanges()
        #expect(list.calls == ["reload", "begin", "insert row 0.0", "end"])
        #expect(list.lines == [": Dubliners, Emma, Iliad, Persuasion"] && list.isConsistent)
        // end
        withExtendedLifetime(source) {}
    }

    @Test func controllerWithCache() throws {
        let context = context
        // snippet
        let books = try FetchedResultsController(
            FetchRequest<Book>().sorted(by: \.shelf).sorted(by: \.title), in: context, sectionedBy: "shelf", cacheName: "shelves")
        books.onSnapshot = { snapshot in print(snapshot.sections.map(\.name), snapshot.objectIDs.count) }
        books.onDifference = { difference in print(difference.removals.count, difference.insertions.count) }
        books.onInvalidation = { print("the context was reset") }
        try books.performFetch()
        try container.persistentStoreCoordinator.deleteCache(withName: "shelves")
        // end
        #expect(books.sections.map(\.name) == ["novels", "poems"])
    }
}
