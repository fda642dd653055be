import Foundation
import Hornbeam

final class PEntity: ManagedObject {
    static let name = Attribute<String?>("name")
    static let counter = Attribute<Int32>("counter", default: 7)
    static let score = Attribute<Double?>("score")

    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
    var counter: Int32 { get { self[Self.counter] } set { self[Self.counter] = newValue } }
    var score: Double? { get { self[Self.score] } set { self[Self.score] = newValue } }
}

/// Records which hooks ran, and stamps a note in `willSave`.
final class PHooked: ManagedObject {
    static let name = Attribute<String?>("name")
    static let note = Attribute<String?>("note")

    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
    var note: String? { get { self[Self.note] } set { self[Self.note] = newValue } }

    var calls: [String] = []
    var wasInsertedInDidSave: Bool?

    override func awakeFromInsert() { calls.append("awakeFromInsert") }
    override func awakeFromFetch() { calls.append("awakeFromFetch") }
    override func willSave() {
        calls.append("willSave")
        if !isDeleted, note == nil { note = "stamped" }
    }
    override func didSave() {
        calls.append("didSave")
        wasInsertedInDidSave = isInserted
    }
    override func prepareForDeletion() { calls.append("prepareForDeletion") }
    override func willTurnIntoFault() { calls.append("willTurnIntoFault") }
    override func didTurnIntoFault() { calls.append("didTurnIntoFault") }
}

enum Parity {
    static let classes: [ManagedObject.Type] = [PEntity.self, PHooked.self]

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("PEntity") {
                PEntity.name
                PEntity.counter
                PEntity.score
            }
            Entity("PParent") {
                Attribute<String?>("name")
                ToMany("children", to: "PChild", inverse: "parent", deleteRule: .deny)
            }
            Entity("PChild") {
                Attribute<String?>("name")
                ToOne("parent", to: "PParent", inverse: "children")
            }
            Entity("PHooked") {
                PHooked.name
                PHooked.note
            }
        }
    }

    static func stack(_ kind: StoreKind) throws -> Stack { try Stack(kind, model(), classes) }
}
