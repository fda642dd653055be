import Foundation
import Hornbeam

/// A query with any entity, predicate and columns.
struct Query {
    let entityName: String
    var format: String?
    var sorts: [FetchSort] = []
    var limit = 20
    var offset = 0
    /// Key paths to show; empty means the attributes of the entity.
    var columns: [String] = []

    /// The command line of the same query.
    func commandLine(tool: String = "hornbeam", storePath: String) -> String {
        var words = [tool, "query", storePath, entityName]
        if let format { words.append("--where \"\(format)\"") }
        for sort in sorts { words.append("--sort \(sort.isAscending ? "" : "-")\(sort.keyPath)") }
        words.append("--limit \(limit)")
        if offset > 0 { words.append("--offset \(offset)") }
        if !columns.isEmpty { words.append("--columns \(columns.joined(separator: ","))") }
        return words.joined(separator: " ")
    }

    func request() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: entityName)
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        request.sortDescriptors = sorts
        request.fetchLimit = limit
        request.fetchOffset = offset
        return request
    }

    func run(in context: ManagedObjectContext) throws -> QueryResult {
        let request = try request()
        let clock = Stopwatch(context)
        let objects = try context.fetch(request)
        let entity = try context.persistentStoreCoordinator.managedObjectModel.entity(named: entityName)
        let keyPaths = columns.isEmpty ? entity.attributes.prefix(8).map(\.name) : columns
        var table = TextTable(try keyPaths.map { try Self.column($0, of: entity) })
        for object in objects { table.append(try keyPaths.map { try object.text(forKeyPath: $0) }) }
        return clock.answer("\(entityName): \(Figures.count(objects.count, "object"))", fetch: description, table)
    }

    private var description: String {
        var text = "FetchRequest<\(entityName)>"
        if let format { text += " where \(format)" }
        if !sorts.isEmpty {
            text += " by " + sorts.map { "\($0.keyPath)\($0.isAscending ? "" : " descending")" }.joined(separator: ", ")
        }
        return text + ", limit \(limit)" + (offset > 0 ? ", offset \(offset)" : "")
    }

    /// Throws unless a column can be shown.
    static func validateColumn(_ keyPath: String, of entity: EntityDescription) throws { _ = try column(keyPath, of: entity) }

    /// Throws unless the key path leads over to-one relationships to a property, or to an element of a composite one.
    private static func column(_ keyPath: String, of entity: EntityDescription) throws -> TextTable.Column {
        var steps = keyPath.split(separator: ".").map(String.init)
        let last = steps.popLast() ?? keyPath
        var owner = entity
        for step in steps {
            let property = try owner.property(named: step)
            if property.attributeType == .composite { return .text(keyPath, widthMax: 44) }
            guard property.isToOne, let destination = property.destinationEntity else {
                throw CommandFailure("The column '\(keyPath)' passes '\(step)', which is not a to-one relationship.")
            }
            owner = destination
        }
        let property = try owner.property(named: last)
        return property.isAttribute && property.attributeType.isNumeric ? .number(keyPath) : .text(keyPath, widthMax: 44)
    }
}

extension ManagedObject {
    /// The value as a cell of a table; collections as their count, objects as their ID.
    func text(forKeyPath keyPath: String) throws -> String {
        switch try value(forKeyPath: keyPath) {
        case .null: ""
        case .array(let members): Figures.count(members.count, "object")
        case .set(let members): Figures.count(members.count, "object")
        case let value: value.description
        }
    }
}
