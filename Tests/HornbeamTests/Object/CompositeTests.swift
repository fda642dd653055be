import Foundation
import Hornbeam
import Testing

private enum Place {
    static let city = Attribute<String?>("city", maximumLength: 5)
    static let latitude = Attribute<Double>("latitude", default: 1.5, minimum: -90, maximum: 90)
    static let grid = Attribute<[String: PropertyValue]?>("grid", composite: "Grid")
}

private enum Grid {
    static let zone = Attribute<Int16>("zone", default: 0)
}

private final class Stop: ManagedObject {
    static let name = Attribute<String>("name")
    static let place = Attribute<[String: PropertyValue]>("place", composite: "Place")
    static let former = Attribute<[String: PropertyValue]?>("former", composite: "Place")
    static let next = ToOne<Stop>("next", inverse: "previous")
    static let previous = ToMany<Stop>("previous", inverse: "next")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var place: [String: PropertyValue] { get { self[Self.place] } set { self[Self.place] = newValue } }
    var former: [String: PropertyValue]? { get { self[Self.former] } set { self[Self.former] = newValue } }
    var next: Stop? { get { self[Self.next] } set { self[Self.next] = newValue } }
}

private func stack(_ kind: StoreKind) throws -> Stack {
    let model = try ManagedObjectModel {
        CompositeDescription("Place") { Place.city; Place.latitude; Place.grid }
        CompositeDescription("Grid") { Grid.zone }
        Entity("Stop") { Stop.name; Stop.place; Stop.former; Stop.next; Stop.previous }
    }
    return try Stack(kind, model, [Stop.self])
}

/// Composite attributes of objects.
@Suite struct CompositeTests {
    @Test("ATT-13: elements are read and set by token and by key path, and survive saving", arguments: StoreKind.allCases)
    func elementsAreReadAndSet(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let stop = Stop(context: context)
        stop.name = "Pier"
        #expect(stop.place[Place.latitude] == 1.5, "a required composite begins with the defaults of its elements")
        #expect(stop.former == nil)
        stop.place[Place.latitude] = 59.9
        stop.place[Place.city] = "Oslo"
        try stop.setValue(.int(7), forKeyPath: "place.grid.zone")
        try context.save()
        let other = try stack.newContext().existingObject(Stop.self, with: stop.objectID)
        #expect(other.place == ["latitude": 59.9, "city": "Oslo", "grid": .dictionary(["zone": 7])])
        #expect(other.place[Place.latitude] == 59.9 && other.place[Place.city] == "Oslo")
        #expect(try other.value(forKeyPath: "place.grid.zone") == 7)
        #expect(try other.value(forKeyPath: "former.city") == .null)
    }

    @Test("ATT-13: setting an element to its current value is no change, and restoring its old value removes the change", arguments: StoreKind.allCases)
    func changesAreTracked(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let stop = Stop(context: context)
        stop.name = "Pier"
        stop.place[Place.city] = "Oslo"
        try context.save()
        stop.place[Place.city] = "Oslo"
        try stop.setValue(.double(1.5), forKeyPath: "place.latitude")
        stop.place[Place.grid] = nil
        #expect(!stop.hasChanges)
        stop.place[Place.latitude] = 2
        #expect(stop.changedValues.keys.sorted() == ["place"])
        #expect(stop.committedValues(forKeys: ["place"])["place"] == .dictionary(["city": "Oslo", "latitude": 1.5]))
        stop.place["latitude"] = .double(1.5)
        #expect(stop.changedValues.isEmpty && !stop.hasPersistentChangedValues)
        stop.place["latitude"] = .int(3)
        #expect(stop.place == ["city": "Oslo", "latitude": 3.0], "a whole number is held as the element's type")
        context.rollback()
        #expect(stop.place[Place.latitude] == 1.5)
    }

    @Test("ATT-13: elements are held to their rules at save, and an unknown one is named", arguments: Setting.contexts)
    func elementsAreValidated(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        let stop = Stop(context: context)
        stop.name = "Pier"
        stop.place[Place.latitude] = 91
        stop.place[Place.city] = "Trondheim"
        let both = #expect(throws: HornbeamError.self) { try context.save() }
        #expect(both?.details.map(\.key) == ["place.city", "place.latitude"])
        #expect(both?.details.map(\.code) == [.stringTooLong, .numberTooLarge])
        stop.place = ["latitude": 3, "citty": "Oslo"]
        let unknown = #expect(throws: HornbeamError.self) { try context.save() }
        #expect(unknown?.message == "The composite attribute “Stop.place” has no element “citty” (did you mean “city”?).")
        stop.place = ["city": "Oslo"]
        let missing = #expect(throws: HornbeamError.self) { try context.save() }
        #expect(missing?.key == "place.latitude" && missing?.code == .missingRequiredValue)
        #expect(throws: HornbeamError.self) { try stop.setValue(.string("x"), forKeyPath: "place.latitude") }
        #expect(throws: HornbeamError.self) { try stop.setValue(.int(1), forKeyPath: "place.gird.zone") }
        #expect(throws: HornbeamError.self) { try stop.value(forKeyPath: "place.citty") }
        stop.place[Place.latitude] = 3
        try context.save()
    }

    @Test("ATT-13: predicates and sorts reach elements, in the store, unsaved, and over relationships", arguments: StoreKind.allCases, [true, false])
    func elementsInPredicatesAndSorts(kind: StoreKind, isSaved: Bool) throws {
        let context = try stack(kind).newContext()
        var last: Stop?
        for (name, latitude, city) in [("a", 3.0, "Oslo"), ("b", 1, nil), ("c", 2, "Åmot")] {
            let stop = Stop(context: context)
            stop.name = name
            stop.place[Place.latitude] = latitude
            stop.place[Place.city] = city
            stop.next = last
            last = stop
        }
        if isSaved { try context.save() }
        func names(_ predicate: FetchPredicate, by sort: FetchSort = .ascending("place.latitude")) throws -> [String] {
            var request = FetchRequest<Stop>(entityName: "Stop", predicate: predicate)
            request.sortDescriptors = [sort]
            return try context.fetch(request).map(\.name)
        }
        #expect(try names(FetchPredicate(value: true)) == ["b", "c", "a"])
        #expect(try names(FetchPredicate(value: true), by: .descending("place.city", comparison: .localizedStandard)) == ["a", "c", "b"])
        #expect(try names(Stop.place[Place.latitude] > 1) == ["c", "a"])
        #expect(try names(FetchPredicate(format: "place.city BEGINSWITH[d] 'A' OR place.city == nil")) == ["b", "c"])
        #expect(try names(FetchPredicate(format: "next.place.latitude == 3")) == ["b"])
        #expect(try names(FetchPredicate(format: "ANY previous.place.latitude == 2")) == ["b"])
        #expect(try names(FetchPredicate(format: "previous.@sum.place.latitude > 1.5")) == ["b"])
        let error = #expect(throws: HornbeamError.self) { try names(FetchPredicate(format: "place.citty == 'Oslo'")) }
        #expect(error?.message.contains("did you mean “city”?") == true)
    }

    @Test("ATT-13, MDL-9: a model with fewer elements is another version, and the store keeps its values", arguments: [StoreKind.onDisk])
    func modelsWithFewerElementsAreRefused(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let stop = Stop(context: context)
        stop.name = "Pier"
        stop.place[Place.city] = "Oslo"
        try context.save()
        let id = stop.objectID
        let model = try ManagedObjectModel {
            CompositeDescription("Place") { Place.latitude }
            Entity("Stop") { Stop.name; Stop.place; Stop.former; Stop.next; Stop.previous }
        }
        try stack.container.close()
        let refusing = try PersistentContainer(name: "Stops", model: model, classes: [Stop.self])
        var description = PersistentStoreDescription(url: stack.description.url)
        description.shouldMigrateStoreAutomatically = false
        refusing.persistentStoreDescriptions = [description]
        let error = hornbeamError { try refusing.loadPersistentStores() }
        #expect(error?.code == .modelMismatch && error?.message.contains("composites.Place differs") == true)
        let container = try stack.reopened()
        #expect(try container.newContext().existingObject(Stop.self, with: id).place[Place.city] == "Oslo")
        try container.close()
    }
}
