import Foundation
import Hornbeam
import Testing

/// The model that the macros declare equals one written by hand.
@Suite struct MacroModelTests {
    /// The model of the macros, written by hand.
    private func written() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("MacroItem", abstract: true, userInfo: ["kept": "yes"]) {
                Attribute<String>("code")
                Attribute<UUID>("id")
                Attribute<Date>("added")
                Unique("code")
            }
            Entity("MacroBook", parent: "MacroItem") {
                Attribute<String>("title", minimumLength: 1, maximumLength: 80)
                    .adding(rules: [ValidationRule("SELF != 'forbidden'", warning: "That title is taken.")])
                Attribute<Int?>("year", minimum: 1450, maximum: 2100)
                ToOne<MacroAuthor>("author", to: "Writer", inverse: "books")
                Attribute<Rating>("rating", default: .unrated)
                Attribute<Coded<Binding>>("binding", default: Coded(.paper))
                Attribute<Coded<Binding>?>("cover")
                Attribute<Coded<[String]>>("tags")
                Attribute<Coded<[String: String]>>("notes", default: Coded([:]))
                Attribute<Int>("lent", default: 0, merge: .sum)
                Attribute<Bool>("selected", default: false, transient: true)
                Attribute<[String: PropertyValue]>("place", composite: "Place")
                Attribute<Data?>("image", external: true, preserved: true, renamedFrom: "picture").adding(version: "2")
                Indexed("year")
                Indexed("title", "year")
                Indexed(.folded("title"), .descending("year"), name: "folded", where: "year > 0")
                FetchedPropertyDescription("siblings", entity: "MacroBook", where: "year == $FETCH_SOURCE.year")
            }
            Entity("Writer", renamedFrom: "Person") {
                Attribute<String>("name", unique: true, indexed: true)
                Attribute<Int>("bookCount", derivation: "books.@count")
                ToMany<MacroBook>("books", inverse: "author", deleteRule: .cascade)
                OrderedToMany<MacroPrize>("prizes", inverse: "winner")
                ToOne<MacroAuthor>("teacher", to: "Writer", inverse: "pupils")
                ToMany<MacroAuthor>("pupils", to: "Writer", inverse: "teacher")
            }
            Entity("MacroPrize") {
                Attribute<String>("name")
                ToOne<MacroAuthor>("winner", to: "Writer", inverse: "prizes")
                ToOne<MacroAuthor>("runnerUp", to: "Writer")
                OrderedToMany<MacroAuthor>("jury", to: "Writer")
            }
            CompositeDescription("Place") { Attribute<String?>("city") }
        }
    }

    @Test("MOD-1: each part that the macros declare equals the part written by hand")
    func theDeclaredModelIsTheWrittenOne() throws {
        let declared = try MacroLibrary.model().definition
        let written = try written().definition
        for (a, b) in zip(declared.entities, written.entities) {
            #expect(a.attributes == b.attributes && a.relationships == b.relationships, "\(a.name)")
            #expect(a.fetchIndexes == b.fetchIndexes && a.uniquenessConstraints == b.uniquenessConstraints, "\(a.name)")
            #expect(a == b, "\(a.name)")
        }
        #expect(declared == written)
    }

    @Test("OBJ-16: tokens are listed with the inherited ones") func tokensAreListed() {
        #expect(MacroBook.tokens.map(\.name).prefix(4) == ["code", "id", "added", "title"])
        #expect(MacroAuthor.entityName == "Writer" && MacroBook.entityName == "MacroBook")
    }

    @Test func classesWithoutAnEntityAreNamed() {
        let error = hornbeamError { _ = try ManagedObjectModel(for: MacroAuthor.self, Plain.self, Heir.self) }
        let messages = error.map { [$0.message] + $0.details.map(\.message) } ?? []
        #expect(messages.contains("The class Plain declares no entity. Write @Entity before it, or override `entityDeclaration`."))
        #expect(messages.contains { $0.hasPrefix("The class Heir declares no entity.") })
    }

    class Plain: ManagedObject {}
    final class Heir: MacroItem {}

    @Test("REL-4: an ambiguous inverse is an error that names the candidates") func unclearInverses() {
        let error = hornbeamError { _ = try ManagedObjectModel(for: Unclear.Owner.self, Unclear.Thing.self) }
        let messages = error.map { [$0.message] + $0.details.map(\.message) } ?? []
        #expect(
            messages.contains(
                "The inverse of “Owner.things” may be “Thing.owner” or “Thing.borrower”. Name it with `inverse:`, or write `inverse: nil` "
                    + "where there is none."))
    }

    enum Unclear {
        @Entity final class Owner: ManagedObject {
            var things: Set<Thing>
        }
        @Entity final class Thing: ManagedObject {
            var owner: Owner?
            var borrower: Owner?
        }
    }

    @Test("REL-4: two relationships between the objects of one entity are each other's inverse; one alone has none")
    func inversesWithinOneEntity() throws {
        let model = try ManagedObjectModel(for: Within.Node.self, Within.Link.self)
        let node = try model.entity(named: "Node")
        #expect(node.relationshipsByName["parent"]?.inverse?.name == "children")
        #expect(node.relationshipsByName["children"]?.inverse?.name == "parent")
        #expect(try model.entity(named: "Link").relationshipsByName["next"]?.inverse == nil)
    }

    enum Within {
        @Entity final class Node: ManagedObject {
            var parent: Node?
            var children: [Node]
        }
        @Entity final class Link: ManagedObject {
            var next: Link?
        }
    }
}
