internal import Foundation
internal import Hornbeam
internal import HornbeamModel

/// A model with every type of attribute, every kind of relationship, inheritance and a unique value.
enum ConformanceModel {
    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string, unique: true)
                Attribute("born", .integer32, optional: true)
                ToMany("works", to: "Work", inverse: "author", deleteRule: .cascade)
                ToMany("friends", to: "Author", inverse: "friends")
                ToOne("desk", to: "Desk", inverse: "owner")
            }
            Entity("Desk") {
                Attribute("place", .string, optional: true)
                ToOne("owner", to: "Author", inverse: "desk")
            }
            Entity("Work", abstract: true) {
                Attribute("title", .string)
                ToOne("author", to: "Author", inverse: "works")
                ToMany("tags", to: "Tag", inverse: "works")
            }
            Entity("Book", parent: "Work") {
                Attribute("pages", .integer16, optional: true)
                ToOne("shelf", to: "Shelf", inverse: "books")
            }
            Entity("Song", parent: "Work") {
                Attribute("seconds", .double, optional: true)
            }
            Entity("Tag") {
                Attribute("label", .string, preserved: true)
                ToMany("works", to: "Work", inverse: "tags")
            }
            Entity("Shelf") {
                Attribute("place", .string, optional: true)
                OrderedToMany("books", to: "Book", inverse: "shelf")
            }
            Entity("Values") {
                Attribute("int16", .integer16, optional: true)
                Attribute("int32", .integer32, optional: true)
                Attribute("int64", .integer64, optional: true)
                Attribute("double", .double, optional: true)
                Attribute("float", .float, optional: true)
                Attribute("bool", .boolean, optional: true)
                Attribute("date", .date, optional: true)
                Attribute("decimal", .decimal, optional: true)
                Attribute("string", .string, optional: true)
                Attribute("uri", .uri, optional: true)
                Attribute("data", .binary, optional: true)
                Attribute("uuid", .uuid, optional: true)
            }
        }
    }

    private static let page = URL(string: "https://example.org/a%20b?c=d") ?? URL(filePath: "/")

    /// Values of every type, including extreme values.
    static let samples: [[String: PropertyValue]] = [
        [:],
        [
            "int16": .int(.init(Int16.min)), "int32": .int(.init(Int32.min)), "int64": .int(.min), "double": .double(-0.1),
            "float": .double(0.5), "bool": false, "date": .date(.distantPast), "decimal": .decimal(-1), "string": "",
            "data": .data(Data()), "uuid": .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))),
        ],
        [
            "int16": .int(.init(Int16.max)), "int32": .int(.init(Int32.max)), "int64": .int(.max),
            "double": .double(.greatestFiniteMagnitude), "float": .double(-2), "bool": true,
            "date": .date(Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)), "decimal": .decimal(Decimal(12_345) / 1000),
            "string": "e\u{301} “”\u{0}\n𝄞", "uri": .uri(page), "data": .data(Data([0, 255, 10])),
            "uuid": .uuid(UUID()),
        ],
    ]
}

extension ManagedObjectContext {
    /// Inserts an object with values.
    @discardableResult
    func make(_ entity: String, _ values: [String: PropertyValue] = [:]) throws -> ManagedObject {
        let object = try insert(entityNamed: entity)
        for (key, value) in values { try object.setValue(value, forKey: key) }
        return object
    }

    /// The objects of an entity that satisfy a condition, in the order of an attribute.
    func all(_ entity: String, by key: String? = nil, _ format: String? = nil) throws -> [ManagedObject] {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try format.map { try FetchPredicate(format: $0) }
        if let key { request.sortDescriptors = [FetchSort(key)] }
        return try fetch(request)
    }
}

extension ManagedObject {
    /// Sets a to-one relationship to an object or to nil.
    func setObject(_ object: ManagedObject?, forKey key: String) throws { try setValue(object, forKey: key) }

    /// Replaces the members of a to-many relationship.
    func setObjects(_ objects: [ManagedObject], forKey key: String) throws {
        let ids = objects.map { PropertyValue.objectID($0.objectID) }
        try setValue(entity.propertiesByName[key]?.isOrdered == true ? .array(ids) : .set(Set(ids)), forKey: key)
    }
}
