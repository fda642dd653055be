import Foundation
import Hornbeam
import Testing

@Entity private final class Cabinet: ManagedObject {
    @Attribute(.unique) var label: String
}

@Entity private final class Folio: ManagedObject {
    #Unique<Folio>([\.title, \.shelf])
    #Unique<Folio>([\.number, \.series])
    var title: String
    var number: Int?
    var series: String?
    @Relationship(inverse: nil) var shelf: Cabinet?
    var price: Double = 0
}

@Entity private final class Drawer: ManagedObject {
    var label: String
    @Relationship(inverse: \Sheet.drawer) var sheets: Set<Sheet>
}

@Entity private final class Sheet: ManagedObject {
    #Unique<Sheet>([\.title, \.drawer])
    var title: String
    var drawer: Drawer?
}

/// `upsert` with key paths and conditions in Swift.
@Suite struct TypedUpsertTests {
    private func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel(for: Cabinet.self, Folio.self), [Cabinet.self, Folio.self])
    }

    @Test("a key path finds the object, or makes one with the value", arguments: StoreKind.allCases)
    func byKeyPath(kind: StoreKind) throws {
        let stack = try stack(kind)
        let context = stack.newContext()
        let shelf = try context.upsert(Cabinet.self, where: \.label, is: "A")
        #expect(shelf.isInserted && shelf.label == "A")
        #expect(try context.upsert(Cabinet.self, where: \.label, is: "A") === shelf)
        try context.save()
        #expect(try stack.newContext().upsert(Cabinet.self, where: \.label, is: "A").objectID == shelf.objectID)
    }

    @Test("a condition names all properties of a constraint, to-one relationships too", arguments: Setting.contexts)
    func byCondition(setting: Setting) throws {
        let context = setting.context(of: try stack(setting.kind))
        let shelf = Cabinet(in: context, label: "A")
        let copy = try context.upsert(Folio.self) { $0.title == "Frankenstein" && $0.shelf == shelf }
        #expect(copy.isInserted && copy.title == "Frankenstein" && copy.shelf === shelf)
        try context.save()
        #expect(try context.upsert(Folio.self) { $0.shelf == shelf && $0.title == "Frankenstein" } === copy)
        let other = try context.upsert(Folio.self) { $0.number == 3 && $0.series == "gothic" }
        #expect(other !== copy && other.number == 3 && other.series == "gothic" && other.isInserted)
    }

    @Test("an upsert by a to-one relationship sets the inverse too", arguments: Setting.contexts)
    func inverseIsSet(setting: Setting) throws {
        let stack = try Stack(setting.kind, ManagedObjectModel(for: Drawer.self, Sheet.self), [Drawer.self, Sheet.self])
        let context = setting.context(of: stack)
        let drawer = Drawer(in: context, label: "A")
        let sheet = try context.upsert(Sheet.self) { $0.title == "map" && $0.drawer == drawer }
        #expect(sheet.drawer === drawer && drawer.sheets == [sheet])
        try context.save()
        #expect(drawer.sheets == [sheet])
        #expect(try context.upsert(Sheet.self) { $0.title == "map" && $0.drawer == drawer } === sheet)
    }

    @Test("a condition that is no set of equalities over a constraint is refused")
    func otherConditionsAreRefused() throws {
        let context = try stack(.inMemory).newContext()
        let conditions: [(FetchPath<Folio>) -> FetchPredicate] = [
            { $0.title == "a" }, { $0.title == "a" || $0.shelf == nil }, { $0.title != "a" && $0.shelf == nil },
            { $0.title == "a" && $0.title == "b" }, { $0.shelf.label == "a" && $0.title == "a" }, { $0.number > 3 && $0.series == "x" },
        ]
        for (number, condition) in conditions.enumerated() {
            let error = hornbeamError { _ = try context.upsert(Folio.self, where: condition) }
            #expect(error?.code == .unsupportedRequest, "\(number): \(String(describing: error))")
        }
        let error = hornbeamError { _ = try context.upsert(Folio.self) { $0.price < 3 } }
        #expect(
            error?.message == "An upsert looks up the values of a uniqueness constraint: compare each of its properties with == once, and join "
                + "the comparisons with &&.")
        #expect(hornbeamError { _ = try context.upsert(Folio.self, where: \.price, is: 3) }?.code == .unsupportedRequest)
        #expect(!context.hasChanges)
    }
}
