import Foundation
import Hornbeam

/// Rows I1 to I4: rows with names become objects, new and once more, and many objects are found by their keys.
struct ImportSuite {
    let options: Options
    let folder: Folder
    let contestants: [any ImportContestant.Type]

    static let rows = [
        Row(id: "I1", title: "import of 100 k new rows, 8 fields and one nested object", unit: "s", goal: .atMost(2)),
        Row(id: "I1p", title: "… processor time", unit: "s"),
        Row(id: "I1f", title: "… from a file with a JSON object in each line", unit: "s"),
        Row(id: "I2", title: "the same rows again: nothing is written", unit: "s", goal: .atMost(0.7)),
        Row(id: "I2f", title: "… from a file", unit: "s"),
        Row(id: "I3", title: "peak memory over the pool, import from a file, a save each 5,000 rows", unit: "MiB", goal: .atMost(64)),
        Row(id: "I4", title: "10 k objects by their keys in one lookup, warm", unit: "ms", goal: .atMost(15)),
    ]

    private static let tightPool = 64 << 20

    var count: Int { options.isSmoke ? 2_000 : 100_000 }

    func run(into results: inout Results) throws {
        results.declare(Self.rows + Self.findOrCreateRows)
        let rows = (0..<count).map(ImportedBook.row)
        for repetition in 0..<options.repetitions {
            note("import, repetition \(repetition + 1) of \(options.repetitions)")
            for type in contestants.indices.map({ contestants[($0 + repetition) % contestants.count] }) { try importRows(rows, type, &results) }
            try importFile(&results)
            try findOrCreate(&results)
        }
        results.add("I3", .hornbeam, try MemorySuite(options: options, folder: folder).ask("rows"))
    }

    private func importRows(_ rows: [ImportRow], _ type: any ImportContestant.Type, _ results: inout Results) throws {
        let who = type.contestant
        let store = try type.init(path: folder.empty("imported-\(who.rawValue)"))
        let start = processTime()
        let new = try timed { try store.importRows(rows) }
        results.add("I1p", who, processTime() - start)
        results.add("I1", who, new.seconds)
        results.check("I1", who, new.result, expected: UInt64(rows.count))
        let again = try processorTimed { try store.importRows(rows) }
        results.add("I2", who, again.seconds)
        results.check("I2", who, again.result, expected: 0)
        let keys = (0..<min(10_000, rows.count)).map { ImportedBook.isbn($0 * (rows.count / min(10_000, rows.count))) }
        _ = try store.find(keys)
        for _ in 0..<5 {
            let found = try processorTimed { try store.find(keys) }
            results.add("I4", who, found.seconds * 1e3)
            results.check("I4", who, found.result, expected: UInt64(keys.count))
        }
        try store.close()
        _ = try folder.empty("imported-\(who.rawValue)")
    }

    private func importFile(_ results: inout Results) throws {
        let url = try Self.writeFile(count, folder)
        let store = try GraphImport(path: folder.empty("imported-file"))
        results.add("I1f", .hornbeam, try timed { try store.importFile(url) }.seconds)
        results.add("I2f", .hornbeam, try timed { try store.importFile(url) }.seconds)
        try store.close()
    }

    /// Imports for eight seconds, for a profiler: `import` new rows, `import-file` those of a file, `import-again` unchanged rows. Prints the minimum of
    /// the processor time, which other load disturbs least.
    func profile(_ step: String) throws {
        let rows = (0..<count).map(ImportedBook.row)
        let url = try Self.writeFile(count, folder)
        let start = now()
        var least = Double.infinity
        while now() - start < 8 {
            let store = try GraphImport(path: folder.empty("profiled"))
            func work() throws { if step == "import-file" { try store.importFile(url) } else { _ = try store.importRows(rows) } }
            if step == "import-again" { try work() }
            for _ in 0..<(step == "import-again" ? 5 : 1) { least = min(least, try processorTimed(work).seconds) }
            try store.close()
        }
        note("\(step): \(least.short) s")
    }

    private static func writeFile(_ count: Int, _ folder: Folder) throws -> URL {
        let url = URL(filePath: try folder.empty("import-rows")).appending(path: "rows.jsonl")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data().write(to: url)
        let file = try FileHandle(forWritingTo: url)
        for start in stride(from: 0, to: count, by: 1000) {
            try file.write(contentsOf: Data((start..<min(start + 1000, count)).map { ImportedBook.line($0) + "\n" }.joined().utf8))
        }
        try file.close()
        return url
    }

    /// Runs in a process of its own and prints the peak over the pool.
    static func measureMemory(_ options: Options, _ folder: Folder) throws {
        let url = try writeFile(options.isSmoke ? 2_000 : 100_000, folder)
        ProcessMemory.trimHeap()
        ProcessMemory.forgetPeak()
        let before = ProcessMemory.current
        let store = try GraphImport(path: folder.empty("memory"), poolBytes: tightPool)
        try store.importFile(url, saveEvery: 5000)
        try store.importFile(url, saveEvery: 5000)
        print(Double(ProcessMemory.peak - before - tightPool) / Double(1 << 20))
        try store.close()
    }
}

/// A store of books and authors that takes part.
protocol ImportContestant: AnyObject {
    static var contestant: Contestant { get }

    init(path: String) throws
    /// Imports rows durably; returns how many books were new or changed.
    func importRows(_ rows: [ImportRow]) throws -> UInt64
    /// Reads the books with these keys; returns their number.
    func find(_ keys: [String]) throws -> UInt64
    func close() throws
}

/// The rows: eight fields, and an author who wrote ten books.
enum ImportedBook {
    static func isbn(_ number: Int) -> String { "978-\(10_000_000 + number * 7)" }

    static func row(_ number: Int) -> ImportRow {
        [
            "isbn": .string(isbn(number)), "title": .string("The title of book number \(number)"), "year": .int(Int64(1800 + number % 220)),
            "pages": .int(Int64(100 + number % 900)), "price": .double(Double(number % 5000) / 100 + 0.5), "rating": .double(Double(number % 50) / 10),
            "lent": .bool(number % 3 == 0), "note": .string("shelf \(number % 977), row \(number % 13)"),
            "author": ["name": .string("Author \(number / 10)"), "born": .int(Int64(1750 + number / 10 % 200))],
        ]
    }

    static func line(_ number: Int) -> String {
        #"{"isbn":"\#(isbn(number))","title":"The title of book number \#(number)","year":\#(1800 + number % 220),"pages":\#(100 + number % 900),"#
            + #""price":\#(Double(number % 5000) / 100 + 0.5),"rating":\#(Double(number % 50) / 10),"lent":\#(number % 3 == 0),"#
            + #""note":"shelf \#(number % 977), row \#(number % 13)","author":{"name":"Author \#(number / 10)","born":\#(1750 + number / 10 % 200)}}"#
    }
}
