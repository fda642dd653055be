import Foundation
import Hornbeam

/// A document with media of several kinds: inheritance, a validation rule, a context as a scratch pad, save and revert.
@MainActor enum MediaShelf {
    @Entity(abstract: true) class Medium: ManagedObject {
        @Attribute(rules: [ValidationRule("SELF != 'untitled'", warning: "A medium needs a title.")]) var title: String
        var year: Int?
    }

    @Entity final class Novel: Medium {
        var pages: Int = 0
    }

    @Entity final class Film: Medium {
        var minutes: Int = 0
    }

    static func run() throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "MediaShelf-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "Shelf.document")

        let document = try PersistentDocument.create(at: url, for: Novel.self, Film.self)
        let context = document.context
        let novel = Novel(context: context)
        (novel.title, novel.year, novel.pages) = ("Emma", 1815, 474)
        let film = Film(context: context)
        (film.title, film.year, film.minutes) = ("Metropolis", 1927, 153)
        try document.save()
        var lines = try shelf(context)

        film.title = "untitled"
        do { try document.save() } catch let error as HornbeamError { lines.append("Not saved: \(error.message)") }
        lines.append("Edited: \(document.isEdited)")
        try document.revert()
        lines += try shelf(context)

        let old = try FetchRequest<Medium>().where("year < %d", 1900)
        lines.append("Old: " + (try context.fetch(old).map(\.title)).joined(separator: ", "))
        try document.close()

        let again = try PersistentDocument(opening: url, for: Novel.self, Film.self)
        lines.append("Opened again: \(try again.context.count(Medium.self)) media")
        try again.close()
        return lines
    }

    /// All media by year, each as an object of its class.
    private static func shelf(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(FetchRequest<Medium>().sorted(by: \.year)).map { medium in
            switch medium {
            case let novel as Novel: "\(novel.title), \(novel.pages) pages"
            case let film as Film: "\(film.title), \(film.minutes) minutes"
            default: medium.title
            }
        }
    }
}
