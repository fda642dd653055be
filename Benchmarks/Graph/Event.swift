import Foundation
import Hornbeam

/// The entity of the workload, as a user of Hornbeam writes it.
final class Event: ManagedObject {
    static let uid = Attribute<String>("uid", unique: true)
    static let latitude = Attribute<Double>("latitude")
    static let longitude = Attribute<Double>("longitude")
    static let created = Attribute<Double>("created")
    static let name = Attribute<String>("name")
    static let magnitude = Attribute<Int>("magnitude")

    var uid: String { get { self[Self.uid] } set { self[Self.uid] = newValue } }
    var latitude: Double { get { self[Self.latitude] } set { self[Self.latitude] = newValue } }
    var longitude: Double { get { self[Self.longitude] } set { self[Self.longitude] = newValue } }
    var created: Double { get { self[Self.created] } set { self[Self.created] = newValue } }
    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var magnitude: Int { get { self[Self.magnitude] } set { self[Self.magnitude] = newValue } }

    func fill(_ event: EventGenerator.Event) {
        uid = event.uid
        latitude = event.latitude
        longitude = event.longitude
        created = event.created
        name = event.name
        magnitude = event.magnitude
    }

    /// The value that the loops compute from an event.
    var digest: UInt64 {
        let latitude = latitude
        var name = name
        return name.withUTF8 { eventDigest(latitude, UnsafeRawBufferPointer($0)) }
    }

    /// `digest` without a copy of the name.
    var borrowedDigest: UInt64 {
        let latitude = latitude
        return withUTF8(of: Self.name) { eventDigest(latitude, UnsafeRawBufferPointer($0)) }
    }

    static func container(at path: String, poolBytes: Int, keepsHistory: Bool = false, isShared: Bool = false) throws -> PersistentContainer {
        let model = try ManagedObjectModel {
            Entity("Event") { Event.uid; Event.latitude; Event.longitude; Event.created; Event.name; Event.magnitude }
        }
        return try .open(model, [Event.self], at: path, poolBytes: poolBytes, keepsHistory: keepsHistory, isShared: isShared)
    }
}

extension PersistentContainer {
    /// A container with one store, open.
    static func open(
        _ model: ManagedObjectModel, _ classes: [ManagedObject.Type], at path: String, poolBytes: Int = 1 << 30,
        keepsHistory: Bool = false, isShared: Bool = false
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Benchmark", model: model, classes: classes)
        var description = PersistentStoreDescription(url: URL(filePath: path))
        // The rivals have no history, so it is on only in the rows that name it.
        if !keepsHistory { description.history = nil }
        description.poolBytes = poolBytes
        description.isShared = isShared
        description.busyTimeout = .seconds(60)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }
}
