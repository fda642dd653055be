internal import Foundation
internal import Hornbeam
internal import HornbeamModel

/// Conditions, orders, offsets and limits give the results that the same request has over objects in memory.
extension ConformanceCheck {
    static let conditions = ConformanceCheck("conditions on relationships, texts and missing values have the same results as in memory") { bench in
        let writer = bench.newContext()
        for (number, values) in authors.enumerated() {
            try writer.make("Author", values.merging(["name": .string("\(texts[number % texts.count])\(number)")]) { $1 })
        }
        let all = try writer.all("Author", by: "name")
        for (number, author) in all.enumerated() where number.isMultiple(of: 2) {
            let work = try writer.make(number.isMultiple(of: 4) ? "Book" : "Song", ["title": .string(texts[number % texts.count])])
            try work.setObject(author, forKey: "author")
        }
        try writer.save()
        try bench.everywhere { reader in
            for (entity, format) in examples { try check(entity, format, in: reader, bench) }
        }
    }

    private static let texts = ["a", "A", "", "b%", "b_", "é", "e\u{301}", "z\u{0}y", "z\u{1}", "z"]
    private static let authors: [[String: PropertyValue]] = (0 ..< 30).map { number in
        number.isMultiple(of: 4) ? [:] : ["born": .int(Int64(number % 7))]
    }

    private static let examples = [
        ("Author", "born == 3"), ("Author", "born != 3"), ("Author", "born == nil"), ("Author", "NOT born > 3"), ("Author", "born IN {1, 2.0, nil}"),
        ("Author", "born BETWEEN {1.5, 4}"), ("Author", "born > 2.5 AND NOT (born == 5 OR name BEGINSWITH 'a')"), ("Author", "born == 1e30"),
        ("Author", "name > 'b'"), ("Author", "name <= 'z1'"), ("Author", "name BEGINSWITH 'z'"), ("Author", "name BEGINSWITH ''"),
        ("Author", "name CONTAINS '%'"), ("Author", "name ENDSWITH '7'"), ("Author", "name BEGINSWITH[c] 'a'"), ("Author", "name BEGINSWITH[cd] 'e'"),
        ("Author", "name LIKE 'b?1*'"), ("Author", "name MATCHES '[ab].*[0-4]'"), ("Author", "works.@count == 0"), ("Author", "ANY works.title == 'a'"),
        ("Author", "ALL works.title > 'a'"), ("Author", "SUBQUERY(works, $w, $w.title != 'z').@count > 0"),
        ("Work", "author == nil"), ("Work", "author.born > 2"), ("Work", "NOT author.name CONTAINS 'b'"), ("Book", "title == 'a' OR author.born == nil"),
        ("Song", "author.works.@count == 1"), ("Work", "TRUEPREDICATE"), ("Work", "FALSEPREDICATE"),
    ]

    private static func check(_ entity: String, _ format: String, in reader: ManagedObjectContext, _ bench: ConformanceBench) throws {
        let predicate = try FetchPredicate(format: format)
        // No two objects are equal in all criteria.
        let orders: [[FetchSort]] = entity == "Author"
            ? [[FetchSort("born", ascending: false), FetchSort("name")], [FetchSort("name", comparison: .caseInsensitive)], []]
            : [[FetchSort("author.name")], [FetchSort("title", ascending: false), FetchSort("author.name")], []]
        let everything = try reader.all(entity)
        for (number, sorts) in orders.enumerated() {
            var request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate, sortedBy: sorts)
            request.fetchOffset = sorts.isEmpty ? 0 : number
            request.fetchLimit = sorts.isEmpty ? 0 : 5
            let found = try reader.fetch(request).map(\.objectID)
            let sorted = try everything.filtered(by: predicate).sorted(by: sorts).dropFirst(request.fetchOffset)
            let wanted = (sorts.isEmpty ? sorted : sorted.prefix(5)).map(\.objectID)
            let isSame = sorts.isEmpty ? Set(found) == Set(wanted) && found.count == wanted.count : found == wanted
            try bench.require(isSame, "“\(format)” of \(entity), sorted by \(sorts.map(\.keyPath)): \(found) instead of \(wanted)")
            let count = try reader.count(request)
            try bench.require(count == wanted.count, "“\(format)” of \(entity) counts \(count) instead of \(wanted.count)")
        }
    }
}
