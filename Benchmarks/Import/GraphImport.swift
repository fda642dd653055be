import Foundation
import Hornbeam

@Entity final class ImportAuthor: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var name: String
    var born: Int
    @Relationship(inverse: \ImportBook.author) var books: Set<ImportBook>

    static var uniqueKey: Hornbeam.Attribute<String> { name }
}

@Entity final class ImportBook: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var isbn: String
    var title: String
    var year: Int
    var pages: Int
    var price: Double
    var rating: Double
    var lent: Bool = false
    var note: String
    var author: ImportAuthor?

    static var uniqueKey: Hornbeam.Attribute<String> { isbn }
}

/// Hornbeam imports with a mapping.
final class GraphImport: ImportContestant {
    static let contestant = Contestant.hornbeam
    private static let mapping = ImportMapping(ImportBook.self).object(ImportBook.author, ImportMapping(ImportAuthor.self))

    private let container: PersistentContainer
    private var reading: ManagedObjectContext?

    convenience init(path: String) throws { try self.init(path: path, poolBytes: 1 << 30) }

    init(path: String, poolBytes: Int) throws {
        let classes: [ManagedObject.Type] = [ImportAuthor.self, ImportBook.self]
        container = try .open(ManagedObjectModel(for: classes), classes, at: path, poolBytes: poolBytes)
    }

    func importRows(_ rows: [ImportRow]) throws -> UInt64 {
        let report = try container.newContext().importRows(rows, with: Self.mapping)
        return UInt64(report.inserted + report.updated)
    }

    func importFile(_ url: URL, saveEvery count: Int? = nil) throws {
        let options = ImportOptions(saving: count.map { .every($0) } ?? .once)
        try container.newContext().importRows(from: .jsonLines(url), with: Self.mapping, options: options)
    }

    func find(_ keys: [String]) throws -> UInt64 {
        let context = reading ?? container.newContext()
        reading = context
        return UInt64(try context.objects(ImportBook.self, keys: keys).count)
    }

    func close() throws {
        reading = nil
        try container.close()
    }
}
