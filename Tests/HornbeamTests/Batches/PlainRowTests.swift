import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Rows of entities without one-to-one relationships. Their values are written directly into cells.
@Suite("Batch inserts of plain rows")
struct PlainRowTests {
    private static let model = Result {
        try ManagedObjectModel {
            Entity("Owner") {
                Owner.name
                Owner.items
            }
            Entity("Item") {
                Item.note
                Item.rank
                Item.weight
                Item.owner
            }
        }
    }

    private func stack(_ kind: StoreKind) throws -> Stack { try Stack(kind, Self.model.get(), [Owner.self, Item.self]) }

    @Test("BAT-1: the last of several values of a property counts, also null", arguments: StoreKind.allCases)
    func theLastValueCounts(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let long = "a long text that is in the heap of the row"
        try context.execute(
            BatchInsertRequest(Item.self, from: 1...3) { number, row in
                row.set(Item.rank, 9)
                row.set(Item.rank, number)
                row.set(Item.weight, -0.0)
                row.set(Item.note, long)
                if number > 1 { row.set(Item.note, nil) }
                if number > 2 { row.set(Item.note, "short") }
            })
        let items = try context.fetch(FetchRequest<Item>().sorted(by: "rank"))
        #expect(items.map(\.rank) == [1, 2, 3])
        #expect(items.map(\.note) == [long, nil, "short"])
        #expect(items.allSatisfy { $0.weight == 0 && $0.weight?.sign == .plus })
        #expect(try context.fetch(FetchRequest<Item>().where("note == nil")).map(\.rank) == [2])
        #expect(try context.fetch(FetchRequest<Item>().where("note == 'short'")).map(\.rank) == [3])
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-1: members are in the store, in any order of their owners", arguments: StoreKind.allCases)
    func membersInAnyOrder(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let owners = (0..<3).map { number in
            let owner = Owner(context: context)
            owner.name = "\(number)"
            return owner
        }
        try context.save()
        let numbers = (0..<200).map { $0 * 7 % 5 }
        try context.execute(
            BatchInsertRequest(Item.self, from: numbers.enumerated()) { item, row in
                row.set(Item.rank, item.offset)
                row.set(Item.owner, item.element < 3 ? owners[item.element].objectID : nil)
            })
        for (number, owner) in owners.enumerated() {
            #expect(Set(owner.items.map(\.rank)) == Set(numbers.indices.filter { numbers[$0] == number }))
        }
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }
}

private final class Owner: ManagedObject {
    static let name = Attribute<String>("name")
    static let items = ToMany<Item>("items", inverse: "owner")

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var items: ManagedSet<Item> { self[Self.items] }
}

private final class Item: ManagedObject {
    static let note = Attribute<String?>("note", indexed: true)
    static let rank = Attribute<Int>("rank", default: 0)
    static let weight = Attribute<Double?>("weight")
    static let owner = ToOne<Owner>("owner", inverse: "items")

    var note: String? { self[Self.note] }
    var rank: Int { self[Self.rank] }
    var weight: Double? { self[Self.weight] }
}
