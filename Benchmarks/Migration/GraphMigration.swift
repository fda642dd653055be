import Foundation
import Hornbeam

/// The entity whose model gets further versions.
@Entity final class Note: ManagedObject {
    var code: String
    var latitude: Double
    var longitude: Double
    var name: String
    var grade: Int?
    var remark: String?

    static let model = Result { try ManagedObjectModel(for: Note.self) }
}

/// Hornbeam migrates a store by opening it.
final class GraphMigration: MigrationContestant {
    static let contestant = Contestant.hornbeam

    private let path: String
    private let poolBytes: Int

    convenience init(path: String) { self.init(path: path, poolBytes: 1 << 30) }

    init(path: String, poolBytes: Int) {
        self.path = path
        self.poolBytes = poolBytes
    }

    func load(_ rows: Int) throws {
        let container = try open(Note.model.get(), [Note.self])
        try container.performAndWait { context in
            var rest = EventGenerator(count: rows).enumerated().makeIterator()
            for start in stride(from: 0, to: rows, by: 1_000_000) {
                let events = (start ..< min(start + 1_000_000, rows)).compactMap { _ in rest.next() }
                try context.execute(BatchInsertRequest(Note.self, from: events) { event, row in
                    row.set(Note.code, event.element.uid)
                    row.set(Note.latitude, event.element.latitude)
                    row.set(Note.longitude, event.element.longitude)
                    row.set(Note.name, event.element.name)
                    row.set(Note.grade, event.offset % 2 == 0 ? event.element.magnitude : nil)
                    row.set(Note.remark, event.offset % 2 == 0 ? event.element.name : nil)
                })
            }
        }
        try container.close()
    }

    private func open(_ model: ManagedObjectModel, _ classes: [ManagedObject.Type] = []) throws -> PersistentContainer {
        try .open(model, classes, at: path, poolBytes: poolBytes)
    }

    // MARK: Without rewriting

    /// A chain of versions, each with one change for which no row is touched.
    static func unwrittenChanges() throws -> [ManagedObjectModel] {
        var definition = try Note.model.get().definition
        var versions: [ManagedObjectModel] = []
        func change(_ body: (inout ModelDefinition) -> Void) throws {
            body(&definition)
            versions.append(try ManagedObjectModel(definition))
        }
        func edit(_ name: String, _ definition: inout ModelDefinition, _ body: (inout AttributeDescription) -> Void) {
            guard let place = definition.entities[0].attributes.firstIndex(where: { $0.name == name }) else { return }
            body(&definition.entities[0].attributes[place])
        }
        try change { $0.entities[0].attributes.append(AttributeDescription("level", .integer64, default: 1)) }
        try change { $0.entities[0].attributes.append(AttributeDescription("motto", .string, default: "none yet")) }
        try change { edit("name", &$0) { ($0.name, $0.renamingIdentifier) = ("title", "name") } }
        try change { edit("longitude", &$0) { $0.isOptional = true } }
        try change { $0.entities[0].attributes.removeAll { $0.name == "latitude" } }
        try change { $0.entities.append(Entity("Place", attributes: [AttributeDescription("name", .string, optional: true)])) }
        try change { ($0.entities[0].name, $0.entities[0].renamingIdentifier) = ("Remark", "Note") }
        try change { $0.entities[0].superentityName = "Place" }
        return versions
    }

    /// The elapsed time and the processor time of an opening.
    static func costs(ofOpening path: String, _ model: ManagedObjectModel) throws -> (seconds: Double, processor: Double) {
        let start = processTime()
        let (seconds, container) = try timed { try PersistentContainer.open(model, [], at: path) }
        let processor = processTime() - start
        try container.close()
        return (seconds, processor)
    }

    // MARK: With rewriting

    private static func version(_ body: (inout Entity) -> Void) throws -> ManagedObjectModel {
        var definition = try Note.model.get().definition
        body(&definition.entities[0])
        return try ManagedObjectModel(definition)
    }

    private static func requiring(_ name: String, _ value: PropertyValue) throws -> ManagedObjectModel {
        try version { entity in
            for place in entity.attributes.indices where entity.attributes[place].name == name {
                entity.attributes[place].isOptional = false
                entity.attributes[place].defaultValue = value
            }
        }
    }

    func requireNumber() throws -> UInt64 { try finish(open(Self.requiring("grade", 77)), "grade == 77") }
    func requireText() throws -> UInt64 { try finish(open(Self.requiring("remark", "none")), "remark == 'none'") }
    func addConstraint() throws -> UInt64 { try finish(open(Self.version { $0.uniquenessConstraints = [["code"]] }), "latitude > 0") }
    func updateNumber() throws -> UInt64 { try update("grade", FetchExpression(format: "77"), "grade == 77") }
    func updateText() throws -> UInt64 { try update("remark", FetchExpression(format: "'none'"), "remark == 'none'") }
    func updateTextFromAnother() throws -> UInt64 { try update("remark", FetchExpression(format: "uppercase:(name)"), "remark != nil") }

    private func update(_ name: String, _ expression: FetchExpression, _ condition: String) throws -> UInt64 {
        let container = try open(Note.model.get())
        var request = BatchUpdateRequest(entityName: "Note", predicate: try FetchPredicate(format: "%K == nil", name))
        request.set(name, to: expression)
        try container.performAndWait { context in _ = try context.execute(request) }
        return try finish(container, condition)
    }

    private func finish(_ container: PersistentContainer, _ condition: String) throws -> UInt64 {
        let count = try container.performAndWait { context in
            try context.count(FetchRequest<ManagedObject>(entityName: "Note", predicate: FetchPredicate(format: condition)))
        }
        try container.close()
        return UInt64(count)
    }
}
