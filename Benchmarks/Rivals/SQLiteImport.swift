#if Rivals
import Foundation
import Hornbeam

/// The import as an app writes it by hand: one transaction, a lookup by key for each row, an insert, or an update where a value differs.
final class SQLiteImport: ImportContestant {
    static let contestant = Contestant.sqlite

    private let connection: SQLiteConnection
    private let findAuthor, insertAuthor, updateAuthor, findBook, insertBook, updateBook: SQLiteStatement

    init(path: String) throws {
        connection = try SQLiteConnection(path: path)
        try connection.run(
            """
            CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born INTEGER NOT NULL);
            CREATE TABLE book (id INTEGER PRIMARY KEY, isbn TEXT NOT NULL UNIQUE, title TEXT NOT NULL, year INTEGER NOT NULL, \
            pages INTEGER NOT NULL, price REAL NOT NULL, rating REAL NOT NULL, lent INTEGER NOT NULL, note TEXT NOT NULL, author INTEGER);
            CREATE INDEX books ON book (author)
            """)
        findAuthor = try connection.prepare("SELECT id, born FROM author WHERE name = ?")
        insertAuthor = try connection.prepare("INSERT INTO author (name, born) VALUES (?, ?) RETURNING id")
        updateAuthor = try connection.prepare("UPDATE author SET born = ? WHERE id = ?")
        findBook = try connection.prepare("SELECT id, title, year, pages, price, rating, lent, note, author FROM book WHERE isbn = ?")
        insertBook = try connection.prepare(
            "INSERT INTO book (isbn, title, year, pages, price, rating, lent, note, author) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        updateBook = try connection.prepare(
            "UPDATE book SET title = ?2, year = ?3, pages = ?4, price = ?5, rating = ?6, lent = ?7, note = ?8, author = ?9 WHERE isbn = ?1")
    }

    func importRows(_ rows: [ImportRow]) throws -> UInt64 {
        try connection.transaction {
            var changed: UInt64 = 0
            for row in rows where try importRow(row) { changed += 1 }
            return changed
        }
    }

    private func importRow(_ row: ImportRow) throws -> Bool {
        guard case .dictionary(let writer)? = row["author"] else { throw BenchmarkError("A row has no author.") }
        let author = try importAuthor(Self.text(writer["name"]), Self.int(writer["born"]))
        let isbn = Self.text(row["isbn"])
        let (title, note) = (Self.text(row["title"]), Self.text(row["note"]))
        let (year, pages, lent) = (Self.int(row["year"]), Self.int(row["pages"]), row["lent"] == .bool(true) ? 1 : 0)
        let (price, rating) = (Self.double(row["price"]), Self.double(row["rating"]))
        findBook.bind(1, copying: isbn)
        defer { findBook.reset() }
        let isKnown = try findBook.step()
        if isKnown, findBook.text(1).elementsEqual(title.utf8), findBook.int(2) == year, findBook.int(3) == pages, findBook.double(4) == price,
            findBook.double(5) == rating, findBook.int(6) == lent, findBook.text(7).elementsEqual(note.utf8), findBook.int(8) == author
        {
            return false
        }
        let write = isKnown ? updateBook : insertBook
        write.bind(1, copying: isbn)
        write.bind(2, copying: title)
        write.bind(3, year)
        write.bind(4, pages)
        write.bind(5, price)
        write.bind(6, rating)
        write.bind(7, lent)
        write.bind(8, copying: note)
        write.bind(9, author)
        try write.run()
        return true
    }

    private func importAuthor(_ name: String, _ born: Int) throws -> Int {
        findAuthor.bind(1, copying: name)
        defer { findAuthor.reset() }
        if try findAuthor.step() {
            let id = findAuthor.int(0)
            guard findAuthor.int(1) != born else { return id }
            updateAuthor.bind(1, born)
            updateAuthor.bind(2, id)
            try updateAuthor.run()
            return id
        }
        insertAuthor.bind(1, copying: name)
        insertAuthor.bind(2, born)
        defer { insertAuthor.reset() }
        guard try insertAuthor.step() else { throw BenchmarkError("SQLite returned no ID.") }
        return insertAuthor.int(0)
    }

    func find(_ keys: [String]) throws -> UInt64 {
        try connection.reading {
            var found: [String: Int] = [:]
            found.reserveCapacity(keys.count)
            for key in keys {
                findBook.bind(1, copying: key)
                if try findBook.step() { found[key] = findBook.int(0) }
                findBook.reset()
            }
            return UInt64(found.count)
        }
    }

    func close() throws { connection.close() }

    private static func text(_ value: PropertyValue?) -> String {
        if case .string(let text)? = value { text } else { "" }
    }

    private static func int(_ value: PropertyValue?) -> Int {
        if case .int(let number)? = value { Int(number) } else { 0 }
    }

    private static func double(_ value: PropertyValue?) -> Double {
        if case .double(let number)? = value { number } else { 0 }
    }
}
#endif
