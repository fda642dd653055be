import Foundation
import Hornbeam

// `Readme.swift` beside this file is the first code block of README.md, unchanged: `Scripts/test-linking` puts
// it there. It declares `Author`, `Book` and `keepBooks(at:)`.

/// Parts of the macro form that the README's classes do not show: inheritance, public access, structs, values made for each object, a hook.
@Entity public class Item: ManagedObject {
    #Unique<Item>([\.code])
    public var code: String
    public var id: UUID = UUID()
    @Transient var inserts = 0

    public override func awakeFromInsert() { inserts += 1 }
}

@Entity public final class Film: Item {
    public var runtime: Runtime = Runtime(minutes: 90)
    public var tags: [String] = []
    var sequel: Film?
    @Relationship(inverse: nil) var related: ManagedSet<Item>
}

/// Stored values are read on any thread, so their types belong to no actor.
public nonisolated struct Runtime: Codable, Sendable, Equatable {
    var minutes: Int
    public init(minutes: Int) { self.minutes = minutes }
}

/// A class written by hand, with what the README's classes do not show: listed tokens, a stored property and a hook of the class's own.
final class Note: ManagedObject {
    static let text = Attribute<String>("text")
    static let stamp = Attribute<Date?>("stamp")

    override class var tokens: [any PropertyToken] { [text, stamp] }

    var text: String { get { self[Self.text] } set { self[Self.text] = newValue } }
    var stamp: Date? { get { self[Self.stamp] } set { self[Self.stamp] = newValue } }

    var saves = 0
    override func didSave() { saves += 1 }
}

@main struct Client {
    @MainActor static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "Library.hornbeam")
        try await keepBooks(at: url)
        try readBack(url)
        try await keepNotes()
        try await keepFilms()
        print("linked, written and read back")
    }

    @MainActor static func readBack(_ url: URL) throws {
        let library = try PersistentContainer.open(at: url, for: Author.self, Book.self)
        let authors = try library.viewContext.fetch(FetchRequest<Author>())
        expect(authors.count == 1 && authors[0].books.count == 1, "the README's author has one book")
        authors[0].books.removeAll()
        try library.viewContext.save()
        let lonely = try library.viewContext.count(FetchRequest<Book>().where("author == nil"))
        expect(lonely == 1, "the book kept its author")
        try library.close()
    }

    @MainActor static func keepFilms() async throws {
        let container = try PersistentContainer.inMemory(for: Film.self)
        let film = try await container.newBackgroundContext().perform { context in
            let film = Film(in: context, tags: ["short"])
            film.code = "a"
            film.related.insert(film)
            expect(film.inserts == 1 && film.related.count == 1, "the hook ran once, and the set has one member")
            try context.save()
            return film.snapshot(including: \.related)
        }
        expect(film.code == "a" && film.runtime.minutes == 90 && film.related?.first?.objectID == film.objectID, "the snapshot has the values")
        let copy = try JSONDecoder().decode(Film.Snapshot.self, from: JSONEncoder().encode(film))
        expect(copy.code == "a" && copy.runtime == film.runtime && copy.tags == film.tags, "the snapshot came back from JSON")
        expect(copy.related?.map(\.code) == ["a"], "members came back with the properties of the relationship's class")
        let same = try container.viewContext.existingObject(Film.self, with: film.objectID)
        let films = FetchedResults(FetchRequest<Film>().sorted(by: \.code), in: container.viewContext)
        expect(films.objects.count == 1 && films.fetchError == nil, "the results are there at once")
        expect(same.runtime == Runtime(minutes: 90) && same.tags == ["short"] && same.code == "a", "the values came back")
        try container.close()
    }

    @MainActor static func keepNotes() async throws {
        let model = try ManagedObjectModel { Entity("Note") { Note.text; Note.stamp } }
        let container = try PersistentContainer.inMemory(model: model, classes: [Note.self])
        let saves = try await container.newBackgroundContext().perform { context in
            let note = Note(context: context)
            note.text = "a"
            try context.save()
            return note.saves
        }
        expect(saves == 1, "the hook ran once")
        try container.close()
    }

    nonisolated static func expect(_ truth: Bool, _ what: String) {
        guard truth else { fatalError("not so: \(what)") }
    }
}
