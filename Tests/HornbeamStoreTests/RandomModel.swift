import Foundation
import HornbeamModel
@testable import HornbeamStore

/// A random model: things with attributes of any type, constraints and compound indexes in any direction and collation, a subentity of
/// things, and owners of things.
struct RandomModel {
    private var attributes: [AttributeDescription] = []
    private var indexes: [FetchIndexDescription] = []
    private var constraints: [[String]] = []

    private static let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .decimal, .string, .string, .uri, .binary, .uuid,
    ]

    init(_ generator: inout SeededGenerator) {
        func roll(_ sides: Int) -> Int { .random(in: 0 ..< sides, using: &generator) }
        for number in 0 ..< 3 + roll(4) {
            let type = Self.types[roll(Self.types.count)]
            attributes.append(AttributeDescription("a\(number)", type, optional: roll(3) > 0))
        }
        for number in 0 ..< 2 + roll(4) {
            var names = attributes.shuffled(using: &generator).prefix(1 + roll(3)).map(\.name)
            if roll(4) == 0 { names.insert("author", at: roll(names.count + 1)) }
            let elements = names.map { name in
                let isText = attributes.contains { $0.name == name && $0.type == .string }
                let collation = isText ? IndexCollation.allCases[roll(4)] : .binary
                return FetchIndexElement(name, ascending: roll(2) == 0, collation: collation)
            }
            indexes.append(FetchIndexDescription("i\(number)", elements))
        }
        for _ in 0 ..< 1 + roll(2) {
            constraints.append(attributes.shuffled(using: &generator).prefix(1 + roll(2)).map(\.name) + ["serial"])
        }
    }

    func model() throws -> ManagedObjectModel {
        var thing = Entity("Thing") {
            Attribute("serial", .integer32)
            ToOne("author", to: "Owner", inverse: "things")
            for attribute in attributes { attribute }
            for index in indexes { index }
        }
        thing.uniquenessConstraints += Array(Set(constraints)).sorted { $0.joined() < $1.joined() }
        return try ManagedObjectModel {
            thing
            Entity("Special", parent: "Thing") {
                Attribute("extra", .integer32, optional: true, indexed: true)
            }
            Entity("Owner") {
                Attribute("name", .string, unique: true)
                Attribute("rank", .integer16)
                ToMany("things", to: "Thing", inverse: "author")
            }
        }
    }

    /// A value for a required attribute.
    func zero(_ name: String) -> PropertyValue {
        switch attributes.first(where: { $0.name == name })?.type {
        case .double, .float: .double(0)
        case .boolean: .bool(false)
        case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
        case .decimal: .decimal(0)
        case .string: .string("")
        case .uri: .uri(URL(string: "a:b")!)
        case .binary: .data(Data())
        case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        default: .int(0)
        }
    }
}
