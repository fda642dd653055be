import Foundation
import Hornbeam
import Testing

/// Documents: explicit saves, autosaves beside them, crashes and recovery.
@Suite @MainActor struct PersistentDocumentTests {
    private static func freshURL() -> URL { FileManager.default.temporaryDirectory.appending(path: "document-\(UUID().uuidString)") }

    private static func create(at url: URL) throws -> PersistentDocument {
        let document = try PersistentDocument.create(at: url, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        document.autosaveDelay = nil
        return document
    }

    private static func open(_ url: URL) throws -> PersistentDocument {
        let document = try PersistentDocument(opening: url, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        document.autosaveDelay = nil
        return document
    }

    private static func books(_ document: PersistentDocument) throws -> [Int] {
        try document.context.fetch(ShelfBook.self).map(\.isbn).sorted()
    }

    private static func remove(_ urls: URL...) {
        for url in urls { try? FileManager.default.removeItem(at: url) }
    }

    @Test("DOC-1: a saved document has the same objects after reopening, and no working copy after closing")
    func saveAndReopen() throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        Shelves.book(1, in: document.context)
        try document.save()
        #expect(!document.isEdited)
        try document.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() == ["lock", "saved.hornbeam"])
        let again = try Self.open(url)
        #expect(try Self.books(again) == [1])
        #expect(again.recovery == nil && !again.isEdited)
        try again.close()
    }

    @Test("DOC-1: an autosave leaves the saved state, and is offered for recovery", arguments: [true, false])
    func autosaveIsOffered(isKept: Bool) throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        let first = Shelves.book(1, in: document.context)
        Shelves.book(2, in: document.context)
        try document.save()
        first.title = "Emma"
        Shelves.book(3, in: document.context)
        try document.context.delete(document.context.fetch(ShelfBook.self).filter { $0.isbn == 2 }[0])
        try document.close()
        let again = try Self.open(url)
        let recovery = try #require(again.recovery)
        #expect(recovery.inserted == 1 && recovery.updated == 1 && recovery.deleted == 1)
        #expect(recovery.date.timeIntervalSinceNow > -600)
        #expect(again.isEdited)
        #expect(try Self.books(again) == [1, 3])
        if isKept {
            again.recover()
            #expect(again.recovery == nil && again.isEdited)
            try again.save()
        } else {
            try again.revert()
            #expect(again.recovery == nil && !again.isEdited)
        }
        try again.close()
        let last = try Self.open(url)
        let expected = isKept ? [1, 3] : [1, 2]
        #expect(try Self.books(last) == expected)
        #expect(last.recovery == nil)
        try last.close()
    }

    @Test("DOC-1: a document whose record of autosaves has the largest numbers is opened and autosaved")
    func largestNumbers() throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        Shelves.book(1, in: document.context)
        try document.autosave()
        let coordinator = document.context.persistentStoreCoordinator
        let record = PropertyValue.array([.int(.max), .date(Date()), .int(.max), .int(.max), .int(.min)])
        try coordinator.setMetadata(["HornbeamDocumentAutosave": record], for: try #require(coordinator.persistentStores.first))
        try document.close()
        let again = try Self.open(url)
        #expect(again.recovery?.deleted == 0)
        Shelves.book(2, in: again.context)
        try again.autosave()
        #expect(try again.isEdited && Self.books(again) == [1, 2])
        try again.close()
    }

    @Test("DOC-1: a document whose store is a link to another store is refused, and that store stays as it is", arguments: ["working", "saved"])
    func linkedStore(name: String) throws {
        let (url, other) = (Self.freshURL(), Self.freshURL())
        defer { Self.remove(url, other) }
        try Self.create(at: url).close()
        let container = try PersistentContainer.open(at: other, for: ShelfNode.self)
        try container.viewContext.insert(entityNamed: "ShelfNode").setValue(7, forKey: "number")
        try container.viewContext.save()
        try container.close()
        let store = url.appending(path: name + ".hornbeam")
        try? FileManager.default.removeItem(at: store)
        try FileManager.default.createSymbolicLink(at: store, withDestinationURL: other)
        let error = hornbeamError { _ = try Self.open(url) }
        #expect(error?.code == .notAStore && error?.message.contains("symbolic link") == true)
        #expect(hornbeamError { try PersistentDocument.discardAutosavedChanges(at: url) }?.code == .notAStore)
        let again = try PersistentContainer.open(at: other, for: ShelfNode.self)
        #expect(try again.viewContext.count(FetchRequest<ManagedObject>(entityName: "ShelfNode")) == 1)
        try again.close()
    }

    @Test("DOC-1: a second opening is refused with the document's name, in this and in another process")
    func secondOpening() async throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        let error = hornbeamError { _ = try Self.open(url) }
        #expect(error?.code == .storeInUse && error?.message.contains(url.lastPathComponent) == true)
        await #expect(processExitsWith: .exitCode(7)) { [path = url.path as String] in
            do { _ = try await PersistentDocumentTests.open(URL(filePath: path)) } catch let error as HornbeamError {
                exit(error.code == .storeInUse ? 7 : 1)
            }
        }
        try document.close()
        try Self.open(url).close()
    }

    private static func changeAndDie(_ path: String) throws {
        let document = try create(at: URL(filePath: path))
        Shelves.book(1, in: document.context)
        try document.save()
        Shelves.book(2, in: document.context)
        try document.autosave()
        Shelves.book(3, in: document.context)
        kill(getpid(), SIGKILL)
    }

    @Test("DOC-1: a killed process loses only the changes since the last autosave")
    func kill9() async throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = url.path as String] in
            try await PersistentDocumentTests.changeAndDie(path)
        }
        let document = try Self.open(url)
        #expect(try Self.books(document) == [1, 2])
        #expect(document.recovery?.inserted == 1)
        try document.revert()
        #expect(try Self.books(document) == [1])
        try document.close()
    }

    private static func waitForSignal(_ path: String) async throws {
        let document = try create(at: URL(filePath: path))
        document.autosaveAtShutdown()
        Shelves.book(1, in: document.context)
        kill(getpid(), SIGTERM)
        try await Task.sleep(for: .seconds(20))
        withExtendedLifetime(document) {}
    }

    @Test("DOC-1: a process that receives SIGTERM autosaves")
    func signalAutosaves() async throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        await #expect(processExitsWith: .signal(SIGTERM)) { [path = url.path as String] in
            try await PersistentDocumentTests.waitForSignal(path)
        }
        let document = try Self.open(url)
        #expect(try Self.books(document) == [1])
        try document.close()
    }

    @Test("DOC-1: changes are autosaved after a pause, and the edited state is published")
    func autosaveAfterPause() async throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        document.autosaveDelay = .milliseconds(20)
        var states = document.editedStates().makeAsyncIterator()
        #expect(await states.next() == false)
        Shelves.book(1, in: document.context)
        #expect(await states.next() == true)
        let end = ContinuousClock.now + .seconds(60)
        while document.context.hasChanges, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        #expect(!document.context.hasChanges && document.isEdited && document.autosaveError == nil)
        try document.save()
        #expect(await states.next() == false)
        try document.close()
        #expect(await states.next() == nil)
        // A stream that begins after the end has the last value only.
        var late: [Bool] = []
        for await state in document.editedStates() { late.append(state) }
        #expect(late == [false])
    }

    @Test("DOC-1: any pause before an autosave can be set", arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero])
    func longestPause(delay: Duration) async throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        document.autosaveDelay = delay
        Shelves.book(1, in: document.context)
        document.context.processPendingChanges()
        try await Task.sleep(for: .milliseconds(20))
        try document.autosave()
        #expect(document.isEdited && document.autosaveError == nil)
        try document.close()
    }

    @Test("DOC-1: save(to:) and save(as:) make new documents, and the old one keeps its saved state")
    func saveAs() throws {
        let (url, copy, new) = (Self.freshURL(), Self.freshURL(), Self.freshURL())
        defer { Self.remove(url, copy, new) }
        let document = try Self.create(at: url)
        let book = Shelves.book(1, in: document.context)
        try document.save(to: copy)
        #expect(document.url == url && document.isEdited)
        try document.save(as: new)
        #expect(document.url == new && !document.isEdited)
        book.title = "Persuasion"
        try document.save()
        #expect(hornbeamError { try document.save(as: copy) }?.code == .notAStore)
        #expect(document.url == new)
        try document.close()
        for (place, titles) in [(url, [String]()), (copy, ["A title"]), (new, ["Persuasion"])] {
            let other = try Self.open(place)
            #expect(try other.context.fetch(ShelfBook.self).map(\.title) == titles)
            #expect(other.recovery == nil)
            try other.close()
        }
    }

    @Test("DOC-1: a batch request of the context or of its child is an autosave: it is unsaved, offered for recovery, and saved by a save", arguments: [true, false])
    func batchesAreAutosaves(isChild: Bool) throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        Shelves.book(1, in: document.context)
        try document.save()
        let context = isChild ? document.context.newChildContext() : document.context
        try context.execute(BatchDeleteRequest(ShelfBook.self))
        #expect(document.isEdited)
        try document.close()
        let again = try Self.open(url)
        #expect(try again.recovery != nil && Self.books(again) == [])
        try again.revert()
        #expect(try Self.books(again) == [1])
        try again.context.execute(BatchDeleteRequest(ShelfBook.self))
        try again.save()
        try again.close()
        let last = try Self.open(url)
        #expect(try last.recovery == nil && Self.books(last) == [])
        try last.close()
    }

    @Test("DOC-1: the document's undo is that of its context, and survives an autosave")
    func undo() throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        let book = Shelves.book(1, in: document.context)
        try document.save()
        book.title = "Emma"
        try document.autosave()
        #expect(document.undoStack === document.context.undoStack)
        document.context.undo()
        #expect(book.title == "A title")
        try document.close()
    }

    @Test("DOC-1: a replacement of the saved state that a crash interrupts is completed", arguments: ["next", "previous"])
    func interruptedReplacement(name: String) throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        Shelves.book(1, in: document.context)
        try document.save()
        try document.close()
        try FileManager.default.moveItem(at: url.appending(path: "saved.hornbeam"), to: url.appending(path: name + ".hornbeam"))
        let again = try Self.open(url)
        #expect(try Self.books(again) == [1])
        try again.close()
    }

    @Test("DOC-1: an invalid object is not autosaved, and stays in the context")
    func invalidChanges() throws {
        let url = Self.freshURL()
        defer { Self.remove(url) }
        let document = try Self.create(at: url)
        let book = Shelves.book(1, in: document.context)
        book.title = ""
        #expect(hornbeamError { try document.autosave() } != nil)
        #expect(hornbeamError { try document.close() } != nil)
        book.title = "Emma"
        try document.save()
        try document.close()
    }
}
