import Hornbeam

/// Owners and their items: the objects of the performance shapes.
@Entity final class Owner: ManagedObject {
    @Attribute(.unique) var code: String
    @Attribute(.indexed) var rank = 0
    var note: String?
    @Relationship(inverse: \Item.owner) var items: ManagedSet<Item>
    @Relationship(inverse: \Item.stepOwner) var steps: ManagedArray<Item>
}

@Entity final class Item: ManagedObject {
    var number = 0
    var owner: Owner?
    var stepOwner: Owner?
}

/// The kind of objects that are numerous during a measured operation.
enum ShapeAxis: String, CaseIterable {
    case inverse = "changed through the inverse"
    case updated = "changed"
    case inserted = "new"
    case deleted = "deleted"
    case registered = "registered"
    case members = "members"

    /// True if the objects are pending changes, so that a save would write them all.
    var isPending: Bool { self != .registered && self != .members }
}

/// A store with a context in the state of one axis.
struct ShapeStage {
    /// Owners of the store that no axis touches, by code “spare n”.
    static let spares = 400

    let container: PersistentContainer
    let context: ManagedObjectContext
    /// The objects that operations work on, not changed by the axis.
    let owners: [Owner]
    let items: [Item]
    /// Holds the numerous objects of the axis, so that they stay registered.
    private let kept: [ManagedObject]

    init(_ axis: ShapeAxis, _ count: Int) throws {
        container = try .inMemory(for: Owner.self, Item.self)
        let maker = container.newContext()
        for number in 0..<Self.spares {
            Owner(context: maker)[Owner.code] = "spare \(number)"
            Item(context: maker)[Item.number] = -1
        }
        for number in 0..<count {
            let owner = Owner(context: maker)
            owner[Owner.code] = "c\(number)"
            owner[Owner.rank] = 1
            Item(context: maker)[Item.owner] = owner
        }
        try maker.save()
        let context = container.newContext()
        self.context = context
        owners = try context.fetch(FetchRequest<Owner>(predicate: Owner.code.beginsWith("spare")))
        items = try context.fetch(FetchRequest<Item>(predicate: Item.number == -1))
        kept = try Self.make(axis, count, context, owners[0])
        context.processPendingChanges()
    }

    private static func make(_ axis: ShapeAxis, _ count: Int, _ context: ManagedObjectContext, _ first: Owner) throws -> [ManagedObject] {
        func many() throws -> [Owner] { try context.fetch(FetchRequest<Owner>(predicate: Owner.rank == 1)) }
        switch axis {
        case .inverse:
            for owner in try many() { Item(context: context)[Item.owner] = owner }
        case .updated:
            for owner in try many() { owner[Owner.note] = "changed" }
        case .inserted:
            for number in 0..<count { Owner(context: context)[Owner.code] = "new \(number)" }
        case .deleted:
            for owner in try many() { context.delete(owner) }
        case .registered:
            let owners = try many()
            for owner in owners { _ = owner[Owner.code] }
            return owners
        case .members:
            for number in 0..<count {
                let item = Item(context: context)
                item[Item.number] = number
                item[Item.owner] = first
                item[Item.stepOwner] = first
            }
            try context.save()
        }
        return []
    }
}
