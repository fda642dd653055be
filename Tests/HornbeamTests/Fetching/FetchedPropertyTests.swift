import Foundation
import Hornbeam
import Testing

private final class Rack: ManagedObject {
    static let label = Attribute<String>("label")
    var label: String { get { self[Self.label] } set { self[Self.label] = newValue } }
}

private final class Volume: ManagedObject {
    static let shelfLabel = Attribute<String?>("shelfLabel")
    static let title = Attribute<String>("title")
    var shelfLabel: String? { get { self[Self.shelfLabel] } set { self[Self.shelfLabel] = newValue } }
    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
}

/// Fetched properties of objects.
@Suite struct FetchedPropertyTests {
    private let stack: Stack
    private let context: ManagedObjectContext
    private let rack: Rack

    init() throws {
        let model = try ManagedObjectModel {
            Entity("Rack") {
                Rack.label
                FetchedPropertyDescription(
                    "volumes", entity: "Volume", where: "shelfLabel == $FETCH_SOURCE.label", sortedBy: [.descending("title")])
                FetchedPropertyDescription(
                    "starred", entity: "Volume", where: "title BEGINSWITH $FETCHED_PROPERTY.userInfo.start", userInfo: ["start": "A"])
                FetchedPropertyDescription("twins", entity: "Rack", where: "label == $FETCH_SOURCE.label AND SELF != $FETCH_SOURCE")
            }
            Entity("Volume") { Volume.shelfLabel; Volume.title }
        }
        stack = try Stack(.inMemory, model, [Rack.self, Volume.self])
        context = stack.newContext()
        rack = Rack(context: context)
        rack.label = "SF"
        for (title, label) in [("Ab", "SF"), ("Cd", "SF"), ("Ad", nil)] as [(String, String?)] {
            let volume = Volume(context: context)
            volume.title = title
            volume.shelfLabel = label
        }
    }

    private func titles(_ key: String) throws -> [String] { try rack.fetchedObjects(forKey: key, as: Volume.self).map(\.title) }

    @Test("REL-9: a fetched property returns an ordered array, with $FETCH_SOURCE and $FETCHED_PROPERTY bound", arguments: [true, false])
    func requestIsBound(isSaved: Bool) throws {
        if isSaved { try context.save() }
        #expect(try titles("volumes") == ["Cd", "Ab"])
        #expect(try titles("starred").sorted() == ["Ab", "Ad"])
        #expect(try rack.fetchedObjects(forKey: "twins") == [])
        let twin = Rack(context: context)
        twin.label = "SF"
        #expect(try twin.fetchedObjects(forKey: "twins") == [rack])
    }

    @Test("REL-9: its results are cached until the object becomes a fault or is refreshed")
    func resultIsKept() throws {
        try context.save()
        #expect(try titles("volumes").count == 2)
        let volume = Volume(context: context)
        volume.title = "Ef"
        volume.shelfLabel = "SF"
        try context.save()
        #expect(try titles("volumes") == ["Cd", "Ab"])
        #expect(!rack.hasChanges)
        try context.refresh(rack, mergeChanges: true)
        #expect(try titles("volumes") == ["Ef", "Cd", "Ab"])
        rack.label = "none"
        #expect(try titles("volumes").count == 3)
        try context.refresh(rack, mergeChanges: true)
        #expect(try titles("volumes") == [] && rack.label == "none")
    }

    @Test("REL-9: it cannot be set or used in a predicate, and the error for an unknown one has its name")
    func itIsReadOnly() throws {
        let unknown = #expect(throws: HornbeamError.self) { try titles("volums") }
        #expect(unknown?.message.contains("did you mean “volumes”?") == true)
        #expect(throws: HornbeamError.self) { try rack.setValue(PropertyValue.null, forKey: "volumes") }
        let request = try FetchRequest<Rack>(entityName: "Rack", predicate: FetchPredicate(format: "ANY volumes.title == 'Ab'"))
        let error = #expect(throws: HornbeamError.self) { try context.fetch(request) }
        #expect(error?.message.contains("is a fetched property, which predicates cannot follow") == true)
    }
}
