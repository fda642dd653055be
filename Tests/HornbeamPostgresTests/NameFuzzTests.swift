#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Random names and values of any characters stay in their places: each model has the same objects on the server as in memory, under its own names.
@Suite(.enabled(if: PostgresServer.isThere)) struct NameFuzzTests {
    private static let seeds = (ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES_SEEDS"].flatMap { UInt64($0) }) ?? 4

    @Test(arguments: 1 ... seeds) func namesAndValuesStayInTheirPlaces(seed: UInt64) throws {
        var names = HostileNames(seed: seed)
        let model = try names.model()
        let schema = "fuzz \(seed) " + names.text(20).filter { $0 != "\0" }.prefix(8) + UUID().uuidString.prefix(8)
        let server = try PostgresServer.container(schema, model)
        let memory = try PostgresServer.container(.inMemory(), model)
        for round in 0 ..< 3 {
            let edits = (0 ..< 12).map { _ in names.edit(model) }
            for container in [server, memory] { try apply(edits, to: container.newContext()) }
            // A container that has read nothing yet.
            let reader = try PostgresServer.container(schema, model)
            let expected = try Content(memory.newContext(), model)
            #expect(try Content(reader.newContext(), model) == expected, "seed \(seed), round \(round)")
            for entity in model.entities {
                for attribute in entity.attributes where attribute.attributeType == .string {
                    let request = names.request(entity.name, attribute.name)
                    let found = try reader.newContext().fetch(request).map { try text($0, "id") }
                    #expect(try found == memory.newContext().fetch(request).map { try text($0, "id") }, "seed \(seed): \(request)")
                }
            }
            try reader.close()
        }
        let found = try PostgresServer.sql(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r' AND starts_with(nspname, 'fuzz \(seed) ') "
                + "AND NOT starts_with(relname, '_hornbeam') AND nspname = $hornbeam$\(schema)$hornbeam$")
        let joins = model.entities.count
        #expect(found == "\(model.entities.count + joins)", "seed \(seed): tables of entities, and one of each entity's “links”")
        try server.close()
    }

    private func text(_ object: ManagedObject, _ key: String) throws -> String { "\(try object.value(forKey: key))" }

    private func apply(_ edits: [HostileEdit], to context: ManagedObjectContext) throws {
        for edit in edits {
            let request = FetchRequest<ManagedObject>(entityName: edit.entity, sortedBy: [FetchSort("id")])
            let present = try context.fetch(request)
            switch edit.kind {
            case .insert, .update:
                let object = edit.kind == .insert || present.isEmpty ? try context.insert(entityNamed: edit.entity) : present[edit.place % present.count]
                for (key, value) in edit.values { try object.setValue(value, forKey: key) }
                if !present.isEmpty {
                    try object.setValue(.objectID(present[edit.place % present.count].objectID), forKey: edit.toOne)
                    try object.setValue(.set([.objectID(present[edit.place / 7 % present.count].objectID)]), forKey: edit.toMany)
                }
            case .delete where !present.isEmpty: context.delete(present[edit.place % present.count])
            case .delete: break
            case .batch:
                var batch = BatchUpdateRequest(entityName: edit.entity, predicate: try FetchPredicate(format: "id >= %@", edit.place % 20))
                for (key, value) in edit.values where key != "id" { batch.set(key, to: value) }
                try context.execute(batch)
            }
            context.transactionAuthor = edit.values.values.compactMap { if case .string(let text) = $0 { text } else { nil } }.first
            try context.save()
        }
    }
}

/// All objects of a store, by entity.
private struct Content: Equatable {
    private var rows: [String: [[String: [UInt8]]]] = [:]

    init(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws {
        for entity in model.entities {
            let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name, sortedBy: [FetchSort("id")]))
            rows[entity.name] = try objects.map { object in
                var values: [String: [UInt8]] = [:]
                for attribute in entity.attributes { values[attribute.name] = Array("\(try object.value(forKey: attribute.name))".utf8) }
                for relationship in entity.relationships {
                    values[relationship.name] = Array(try Self.ids(object.value(forKey: relationship.name), context).sorted().joined(separator: " ").utf8)
                }
                return values
            }
        }
    }

    /// The attributes `id` of related objects.
    private static func ids(_ value: PropertyValue, _ context: ManagedObjectContext) throws -> [String] {
        switch value {
        case .objectID(let id): ["\(try context.existingObject(with: id).value(forKey: "id"))"]
        case .set(let values): try values.flatMap { try ids($0, context) }
        case .null: []
        default: ["\(value)"]
        }
    }
}

/// A change of one object.
private struct HostileEdit {
    enum Kind: CaseIterable { case insert, update, delete, batch }

    var kind: Kind
    var entity: String
    var place: Int
    var values: [String: PropertyValue]
    var toOne: String
    var toMany: String
}

/// Names and texts that a careless statement would take for something else.
private struct HostileNames {
    private var random: SeededNumbers
    private var count: Int64 = 0

    init(seed: UInt64) { random = SeededNumbers(seed) }

    /// Keywords, names that the statements of the store use themselves, names that differ in case only, letters of several bytes, marks that combine, and
    /// names of 63 bytes.
    private static let words = [
        "select", "Select", "SELECT", "table", "user", "order", "group", "null", "default", "t", "b", "u", "f", "j", "s", "c0", "c1", "excluded", "source",
        "target", "token", "value", "name", "public", "pg_catalog", "information_schema", "oid", "größe", "Größe", "Ω", "漢字", "ё", "e\u{301}x", "x\u{20DD}",
        "a\u{200D}b", String(repeating: "n", count: 63), String(repeating: "ü", count: 31), "_", "__", "İ", "ı", "ﬁ",
    ]

    private mutating func number(_ limit: Int) -> Int { random.below(limit) }

    private mutating func names(_ count: Int, except taken: Set<String> = ["id", "self_", "links"]) -> [String] {
        var chosen: [String] = []
        while chosen.count < count {
            let word = Self.words[number(Self.words.count)]
            if !taken.contains(word), !chosen.contains(word) { chosen.append(word) }
        }
        return chosen
    }

    /// Entities with a unique number, two texts, bytes, a to-one and a to-many relationship.
    mutating func model() throws -> ManagedObjectModel {
        // A join table has the names of the entity and the relationship.
        let entities = names(3).filter { $0.utf8.count < 50 }
        return try ManagedObjectModel(
            entities: entities.map { entity in
                let keys = names(5).filter { $0.utf8.count < 50 || entity.utf8.count > 0 }
                return Entity(
                    entity,
                    attributes: [
                        AttributeDescription("id", .integer64), AttributeDescription(keys[0], .string, optional: true),
                        AttributeDescription(keys[1], .string, optional: true), AttributeDescription(keys[2], .binary, optional: true),
                    ],
                    relationships: [
                        RelationshipDescription(keys[3], to: entity, inverse: "self_"),
                        RelationshipDescription("self_", to: entity, inverse: keys[3], toMany: true),
                        RelationshipDescription("links", to: entity, inverse: "links", toMany: true),
                    ])
            })
    }

    mutating func text(_ length: Int) -> String {
        let marks = ["'", "\"", "\\", "\0", "\u{1}", "\u{2}", "%", "_", "*", "?", "{", "}", ",", "\n", "$1", "--", ";", "NULL", "\u{301}", "\u{FFFF}", "é", "𝄞", "ß", "İ"]
        var text = ""
        for _ in 0 ..< number(length) {
            if number(3) == 0, let scalar = Unicode.Scalar(UInt32(number(0x11_0000))) { text.unicodeScalars.append(scalar) } else { text += marks[number(marks.count)] }
        }
        return text
    }

    mutating func edit(_ model: ManagedObjectModel) -> HostileEdit {
        let entity = model.entities[number(model.entities.count)]
        var values: [String: PropertyValue] = [:]
        for attribute in entity.attributes {
            switch attribute.attributeType {
            case .string: values[attribute.name] = number(6) == 0 ? .null : .string(text(12))
            case .binary: values[attribute.name] = .data(Data((0 ..< number(40)).map { _ in UInt8(number(256)) }))
            default:
                count += 1
                values[attribute.name] = .int(count)
            }
        }
        let toOne = entity.relationships.first { !$0.isToMany }?.name ?? ""
        return HostileEdit(
            kind: HostileEdit.Kind.allCases[min(number(6), 3)], entity: entity.name, place: number(1000), values: values, toOne: toOne, toMany: "links")
    }

    mutating func request(_ entity: String, _ key: String) -> FetchRequest<ManagedObject> {
        let operators: [FetchPredicate.Comparator] = [.equal, .notEqual, .lessThan, .beginsWith, .endsWith, .contains, .like, .greaterThanOrEqual]
        var request = FetchRequest<ManagedObject>(entityName: entity, sortedBy: [FetchSort(key, ascending: number(2) == 0), FetchSort("id")])
        let options = FetchPredicate.Options(rawValue: number(4))
        request.predicate = FetchPredicate(
            node: .comparison(.init(.keyPath(.evaluatedObject, [.name(key)]), operators[number(operators.count)], .constant(.string(text(4))), options: options)))
        return request
    }
}
#endif
