import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Computed columns")
struct ColumnProgramTests {
    @Test("FET-16: compiled expressions have the values of the evaluator, in any model and order of objects", arguments: 1 ... UInt64(8))
    func programsAgreeWithEvaluator(_ seed: UInt64) throws {
        let filled = try seed % 2 == 0 ? FilledLibrary(seed: seed, size: 120) : FilledLibrary(randomModel: seed, size: 120)
        let snapshot = try filled.library.store.snapshot()
        var generator = SeededGenerator(seed: seed)
        for name in Set(filled.fetchable).sorted() {
            let entity = filled.library.entity(name)
            let objects = filled.objects(of: entity).shuffled(using: &generator)
            let formats = expressions(entity)
            let columns = try snapshot.columns(try formats.map { try FetchExpression(format: $0).node }, of: objects.map(\.reference))
            for (format, column) in zip(formats, columns) {
                let expression = try FetchExpression(format: format)
                let expected = try objects.map { try expression.value(with: $0).propertyValue ?? .null }
                #expect(column == expected, "seed \(seed): \(format) of \(name)")
            }
        }
    }

    @Test("a length counts UTF-16 code units", arguments: ["", "a", "é", "e\u{301}", "日本", "𝄞", "👩‍👩‍👧", "a𝄞é", "abcdefgh", "abcdefghi", "abcdefghé", "abcdefghijklmnop𝄞q", "éabcdefghijklmnop"])
    func lengthCountsCodeUnits(_ text: String) throws {
        let library = try Library()
        var changes = ChangeSet()
        let reference = try library.add("Values", ["string": .string(text)], to: &changes)
        _ = try library.store.save(changes)
        let columns = try library.store.snapshot().columns([FetchExpression(format: "length:(string)").node], of: [reference])
        #expect(columns == [[.int(Int64(text.utf16.count))]])
    }

    @Test("lengths, functions, counts, totals of members and subqueries are compiled; the evaluator computes the rest")
    func compiledForms() throws {
        let library = try Library()
        let snapshot = try library.store.snapshot()
        let table = snapshot.schema.table(at: Int32(library.entity("Author").index))
        func isCompiled(_ format: String) throws -> Bool {
            let compiler = ColumnProgramCompiler(reader: snapshot.reader, table: table) { _ in 0 }
            if case .general = compiler.compile(try FetchExpression(format: format).node) { return false }
            return true
        }
        for format in [
            "name", "length:(name)", "born * 2 + 1", "uppercase:(name)", "publications.@count", "count:(publications)",
            "SUBQUERY(publications, $x, $x.year > 1955).@count", "desk.author.name", "length:(desk.author.name) + publications.@count",
            "publications.@sum.year", "publications.@avg.year + 1", "publications.@max.title",
        ] {
            #expect(try isCompiled(format), "\(format)")
        }
        for format in ["publications.@distinctUnionOfObjects.year", "publications.@max.author", "TERNARY(born > 1900, 1, 2)", "SUBQUERY(publications, $x, $x.author == SELF).@count"] {
            #expect(try !isCompiled(format), "\(format)")
        }
    }

    /// Expressions over the properties of an entity.
    private func expressions(_ entity: EntityDescription) -> [String] {
        var formats = ["SELF", "1 + 2"]
        for attribute in entity.attributes where !attribute.isTransient && attribute.attributeType != .undefined {
            let name = attribute.name
            switch attribute.attributeType {
            case .string:
                formats += [
                    name, "length:(\(name))", "uppercase:(\(name))", "length:(lowercase:(\(name))) * 2",
                    "trim:(\(name))", "substring(\(name), 1, 3)", "replace(\(name), 'a', 'bb')",
                ]
            case .integer16, .integer32: formats += [name, "\(name) * 2 + 1", "abs:(\(name))", "TERNARY(\(name) > 3, 1, 2)"]
            case .boolean, .date, .uuid: formats.append(name)
            default: break
            }
        }
        for relationship in entity.relationships where relationship.inverse != nil && relationship.name != "friends" {
            let name = relationship.name
            let destination = relationship.destinationEntity!
            let text = destination.attributes.first { $0.attributeType == .string && !$0.isTransient }
            let number = destination.attributes.first { [.integer16, .integer32, .integer64].contains($0.attributeType) && !$0.isTransient }
            if relationship.isToMany {
                formats += ["\(name).@count", "count:(\(name))", "\(name).@count * 10 + \(name).@count"]
                if let text { formats.append("SUBQUERY(\(name), $x, $x.\(text.name) CONTAINS[c] 'b').@count") }
                if let number {
                    formats += [
                        "count:(SUBQUERY(\(name), $x, $x.\(number.name) > 1955))", "\(name).@max.\(number.name)", "\(name).@sum.\(number.name)",
                        "\(name).@avg.\(number.name)", "\(name).@min.\(number.name) + 1",
                    ]
                }
            } else if let text {
                formats += ["\(name).\(text.name)", "length:(\(name).\(text.name))"]
            }
        }
        return formats
    }
}
