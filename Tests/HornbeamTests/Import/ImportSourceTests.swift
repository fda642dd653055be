import Foundation
import Hornbeam
import Testing

/// Rows of files, of types of the app, of Foundation and of streams.
@Suite struct ImportSourceTests {
    private struct BookRow: Decodable, Sendable {
        struct AuthorRow: Decodable, Sendable { var name: String }

        var isbn: Int
        var title: String
        var year: Int?
        var score: Double?
        var author: AuthorRow?
        var tags: [String]
    }

    private var typed: ImportMapping<ShelfBook, BookRow> {
        ImportMapping(ShelfBook.self, key: ShelfBook.isbn, from: \BookRow.isbn)
            .field(ShelfBook.title, from: \.title)
            .field(ShelfBook.year, from: \.year)
            .field(ShelfBook.rating, from: \.score, null: .keep)
            .field(ShelfBook.isLent, value: { row in row.title == "lent" })
            .object(ShelfBook.author, from: \.author, ImportMapping(ShelfAuthor.self, key: ShelfAuthor.name, from: \BookRow.AuthorRow.name))
            .objects(ShelfBook.tags, from: \.tags, ImportMapping(ShelfTag.self, key: ShelfTag.word, from: \String.self))
    }

    private let plain = ImportMapping(ShelfBook.self).object(ShelfBook.author, ImportMapping(ShelfAuthor.self))

    private func file(_ text: String) throws -> URL {
        let url = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try Data(text.utf8).write(to: url)
        return url
    }

    private func imported(
        _ text: String, _ options: ImportOptions = ImportOptions(), _ source: (URL) throws -> ImportSource<ImportRow>
    ) throws -> (ImportReport, [ShelfBook], ManagedObjectContext) {
        let url = try file(text)
        defer { try? FileManager.default.removeItem(at: url) }
        let context = try Shelves.stack(.inMemory).newContext()
        let report = try context.importRows(from: source(url), with: plain, options: options)
        return (report, try context.fetch(ShelfBook.self), context)
    }

    @Test("SEED-5: rows of a type of the app are mapped by key paths", arguments: StoreKind.allCases)
    func typedRows(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        var row = BookRow(isbn: 1, title: "lent", year: 1818, score: 4.5, author: .init(name: "a"), tags: ["x", "y"])
        #expect(try context.importRows([row], with: typed).inserted == 1)
        let book = try #require(try context.object(ShelfBook.self, key: 1))
        #expect(book.title == "lent" && book.year == 1818 && book.rating == 4.5 && book.isLent && book.author?.name == "a" && book.tags.count == 2)
        (row.score, row.year, row.author) = (nil, nil, nil)
        #expect(try context.importRows([row, row], with: typed).updated == 1)
        #expect(book.rating == 4.5 && book.year == nil && book.author == nil)
    }

    @Test("SEED-5: files of JSON and of lines are decoded as a type of the app", arguments: [false, true])
    func decodedFiles(lines: Bool) throws {
        let one = #"{"isbn": 1, "title": "one", "tags": ["x"], "author": {"name": "a"}}"#
        let url = try file(lines ? "\(one)\n{\"isbn\": 2}\n" : #"{"data": {"books": [\#(one), {"isbn": 2}]}}"#)
        defer { try? FileManager.default.removeItem(at: url) }
        let context = try Shelves.stack(.inMemory).newContext()
        let source = try lines ? ImportSource.jsonLines(url, of: BookRow.self) : .json(url, of: BookRow.self, at: ["data", "books"])
        let report = try context.importRows(from: source, with: typed, options: ImportOptions(onRefusal: .skip))
        #expect(report.inserted == 1 && report.refused.map(\.number) == [2])
        #expect(report.refused.first?.error.code == .typeMismatch)
    }

    @Test("SEED-5: lines are rows; empty ones are skipped, bad ones have their number")
    func lines() throws {
        let text = "\n{\"isbn\": 1, \"title\": \"one\"}\r\n\n  \n{\"isbn\": 2, \"title\": }\n[3]\n{\"isbn\": 4, \"title\": \"four\"}"
        let (report, books, _) = try imported(text, ImportOptions(onRefusal: .skip)) { try .jsonLines($0) }
        #expect(books.map(\.isbn) == [1, 4])
        #expect(report.refused.map(\.number) == [5, 6])
        #expect(try imported("") { try .jsonLines($0) }.0.rows == 0)
    }

    @Test("SEED-5: rows may be longer than the blocks of the file, and end anywhere in one")
    func longRows() throws {
        let titles = [10, 262_000, 262_144, 300_000, 1, 600_000, 5].map { String(repeating: "ü\\\"]", count: $0 / 5 + 1) }
        let rows = titles.enumerated().map { #"{"isbn":\#($0.offset),"title":"\#($0.element)"}"# }
        let expected = titles.map { $0.replacing("\\\"", with: "\"") }
        let (_, elements, _) = try imported("[\(rows.joined(separator: " , \n"))]\n") { try .json($0) }
        #expect(elements.map(\.title) == expected)
        let (_, lines, _) = try imported(rows.joined(separator: "\n")) { try .jsonLines($0) }
        #expect(lines.map(\.title) == expected)
    }

    @Test("SEED-5: JSON is read as its standard says")
    func values() throws {
        let text = #"""
            [{"isbn": 1, "title": "\u00fc\ud83d\ude00\n\"\/\\", "rating": -1.5e2, "year": null, "isLent": true, "price": 12345678901234567890,
              "other": [1, {"a": []}, {}, false], "author": {"name": "a\tb"}}]
            """#
        let (_, books, _) = try imported(text) { try .json($0) }
        let book = try #require(books.first)
        #expect(book.title == "ü😀\n\"/\\" && book.rating == -150 && book.isLent && book.year == nil)
        #expect(book.price == Decimal(string: "12345678901234567890") && book.author?.name == "a\tb")
    }

    @Test(
        "SEED-5: text that is no JSON is an error of its row",
        arguments: [
            #"{"isbn": 1"#, #"{"isbn": 01x}"#, #"{"isbn" 1}"#, #"{isbn: 1}"#, #"{"isbn": 1,}"#, #"{"title": "\q"}"#, #"{"title": "\ud800"}"#,
            #"{"title": "\u12"}"#, #"{"title": "\u-000"}"#, #"{"title": "\u+041"}"#,
            #"{"isbn": 1} 2"#, #"{"isbn": nul}"#, "{\"title\": \"a\u{1}\"}", #"{"isbn": [1, 2}"#, "7", #"{"title": "open"#,
            #"{"isbn": -}"#, String(repeating: "[", count: 200),
        ])
    func badLines(line: String) throws {
        let (report, _, _) = try imported(line, ImportOptions(onRefusal: .skip)) { try .jsonLines($0) }
        #expect(report.refused.map(\.error.code) == [.typeMismatch])
    }

    @Test(
        "SEED-5: hostile JSON is an error of its row, with the reason; the other rows are imported",
        arguments: [
            (#"{"isbn": 1, "isbn": 1}"#, "has the name “isbn” twice"),
            (#"{"author": {"name": "a", "born": 1, "n\u0061me": "b"}}"#, "has the name “name” twice"),
            (#"{"isbn": \#(String(repeating: "9", count: 39))}"#, "has a whole number of more than 38 digits"),
            (#"{"isbn": -1e999}"#, "has a number beyond the range of a double"),
            (#"{"isbn": \#(String(repeating: "9", count: 1_000)).5}"#, "has a number beyond the range of a double"),
            (#"{"isbn": 01}"#, "has no value where one must be"), (#"{"isbn": +1}"#, "has no value where one must be"),
            (#"{"isbn": .5}"#, "has no value where one must be"), (#"{"isbn": NaN}"#, "has no value where one must be"),
            (#"{"isbn": 1.}"#, "has a number that ends early"), (#"{"isbn": 1e}"#, "has a number that ends early"),
            (#"{"isbn": 1-2}"#, "has an object without an end"),
            (#"{"isbn": \#(String(repeating: "[", count: 20_000))}"#, "is nested more than 128 deep"),
            (String(repeating: #"{"a":"#, count: 4_000), "is nested more than 128 deep"),
            (#"{"title": "open"#, "has a text without an end"), (#"{"title": tru}"#, "has an unknown word"),
        ])
    func hostileRows(line: String, reason: String) throws {
        let (report, books, _) = try imported("\(line)\n{\"isbn\": 5, \"title\": \"five\"}", ImportOptions(onRefusal: .skip)) { try .jsonLines($0) }
        let error = try #require(report.refused.first?.error)
        #expect(error.code == .typeMismatch && error.message.contains(reason), "\(error.message)")
        #expect(report.refusedCount == 1 && books.map(\.isbn) == [5])
    }

    @Test(
        "SEED-5: bytes that are no UTF-8 are an error of their row",
        arguments: [[0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) throws {
        for text in ["{\"isbn\": 1, \"title\": \"a|\"}", "{\"isbn\": 1, \"title\": \"\\n|\"}", "{\"isbn\": 1, \"|\": 1}", "|{\"isbn\": 1}"] {
            let url = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: url) }
            try Data(text.utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false).joined(separator: bytes)).write(to: url)
            let context = try Shelves.stack(.inMemory).newContext()
            let report = try context.importRows(from: .jsonLines(url), with: plain, options: ImportOptions(onRefusal: .skip))
            #expect(report.refused.map(\.error.code) == [.typeMismatch], "\(text)")
            #expect(try context.count(ShelfBook.self) == 0)
        }
    }

    @Test("SEED-5: a file may begin with the byte order mark of UTF-8")
    func byteOrderMark() throws {
        let row = #"{"isbn": 1, "title": "one"}"#
        #expect(try imported("\u{FEFF}\(row)\n\(row)") { try .jsonLines($0) }.0.rows == 2)
        #expect(try imported("\u{FEFF}[\(row)]") { try .json($0) }.1.map(\.title) == ["one"])
        #expect(try imported("\u{FEFF}") { try .jsonLines($0) }.0.rows == 0)
        #expect(hornbeamError { _ = try imported("\(row)\n\u{FEFF}\(row)") { try .jsonLines($0) } }?.code == .typeMismatch)
    }

    @Test("SEED-5: a file that ends within a row is imported up to there, or not at all", arguments: 1..<60)
    func truncatedFiles(length: Int) throws {
        let rows = [#"{"isbn": 1, "title": "a\u00fc", "rating": -1.5e2}"#, #"{"isbn": 2, "title": "b"}"#]
        let text = String(rows.joined(separator: "\n").prefix(length))
        let (report, books, _) = try imported(text, ImportOptions(onRefusal: .skip)) { try .jsonLines($0) }
        #expect(books.map(\.isbn) == (length < rows[0].count ? [] : [1]))
        #expect(report.refusedCount == (length == rows[0].count || length == rows[0].count + 1 ? 0 : 1))
        let error = hornbeamError { _ = try imported(String("[\(rows.joined(separator: ","))]".prefix(length))) { try .json($0) } }
        #expect(error?.code == .typeMismatch)
    }

    @Test("SEED-5: a JSON file whose list is damaged ends the import, and nothing is saved")
    func damagedFiles() throws {
        let row = #"{"isbn": 1, "title": "one"}"#
        let texts = ["", "{}", "[\(row)", "[\(row) \(row)]", "[\(row),", "[\(row)] x", "7", "[\(row), {\"isbn\": "]
        for text in texts {
            let url = try file(text)
            defer { try? FileManager.default.removeItem(at: url) }
            let context = try Shelves.stack(.inMemory).newContext()
            let error = hornbeamError {
                _ = try context.importRows(from: .json(url), with: plain, options: ImportOptions(onRefusal: .skip))
            }
            #expect(error?.code == .typeMismatch, "\(text)")
            #expect(try context.count(ShelfBook.self) == 0)
        }
        #expect(try imported("[]") { try .json($0) }.0.rows == 0)
        #expect(hornbeamError { _ = try ImportSource.json(URL(filePath: "/nowhere.json")) }?.code == .inputOutput)
        #expect(hornbeamError { _ = try imported(#"{"a": 1}"#) { try .json($0, at: ["b"]) } }?.code == .typeMismatch)
    }

    @Test("SEED-5: dictionaries of Foundation are rows", arguments: StoreKind.allCases)
    func foundation(kind: StoreKind) throws {
        let context = try Shelves.stack(kind).newContext()
        let added = Date(timeIntervalSince1970: 0)
        let rows: [[String: Any]] = [
            ["isbn": 1, "title": "one", "year": NSNull(), "added": added, "rating": 1.5, "isLent": true, "author": ["name": "a"]],
            ["isbn": 2, "title": Set<Int>()],
        ]
        let report = try context.importRows(from: .dictionaries(rows), with: plain, options: ImportOptions(onRefusal: .skip))
        #expect(report.inserted == 1 && report.refused.map(\.number) == [2])
        let book = try #require(try context.object(ShelfBook.self, key: 1))
        #expect(book.added == added && book.rating == 1.5 && book.isLent && book.author?.name == "a")
    }

    @Test("SEED-5: a container imports a file on a background thread, in portions, with progress in bytes", arguments: StoreKind.allCases)
    func inBackground(kind: StoreKind) async throws {
        let container = try Shelves.stack(kind).container
        let url = try file((0..<3000).map { #"{"isbn": \#($0), "title": "t"}"# }.joined(separator: "\n"))
        defer { try? FileManager.default.removeItem(at: url) }
        let progress = Progress(totalUnitCount: -1)
        let report = try await container.importRows(
            from: .jsonLines(url), with: plain, options: ImportOptions(saving: .every(1000), progress: progress))
        #expect(report.inserted == 3000 && progress.isFinished && progress.totalUnitCount > 3000)
        #expect(try await container.performBackgroundTask { try $0.count(ShelfBook.self) } == 3000)
    }

    @Test("SEED-5: an asynchronous sequence is imported as it comes; its error discards what is not saved", arguments: StoreKind.allCases)
    func streams(kind: StoreKind) async throws {
        let container = try Shelves.stack(kind).container
        func stream(_ count: Int, failing: Bool) -> AsyncThrowingStream<ImportRow, any Error> {
            AsyncThrowingStream { continuation in
                for number in 0..<count { continuation.yield(["isbn": .int(Int64(number)), "title": "t"]) }
                continuation.finish(throwing: failing ? CancellationError() : nil)
            }
        }
        #expect(try await container.importRows(from: stream(1234, failing: false), with: plain).inserted == 1234)
        #expect(try await container.performBackgroundTask { try $0.count(ShelfBook.self) } == 1234)
        await #expect(throws: CancellationError.self) {
            try await container.importRows(from: stream(2500, failing: true), with: plain)
        }
        #expect(try await container.performBackgroundTask { try $0.count(ShelfBook.self) } == 1234)
        await #expect(throws: CancellationError.self) {
            try await container.importRows(from: stream(2500, failing: true), with: plain, options: ImportOptions(saving: .every(1500)))
        }
        #expect(try await container.performBackgroundTask { try $0.count(ShelfBook.self) } == 1500)
    }
}
