import Foundation
import Hornbeam

// Classes in macro form with every option.

/// Stored as its raw value.
enum Rating: Int, CaseIterable, AttributeValue { case unrated, poor, good }

/// Stored as JSON. It has no empty value.
struct Binding: Codable, Sendable, Equatable {
    var material: String
    var weight: Double
    static let paper = Binding(material: "paper", weight: 0.2)
}

@Entity(abstract: true, userInfo: ["kept": "yes"])
class MacroItem: ManagedObject {
    #Unique<MacroItem>([\.code])
    var code: String
    var id: UUID = UUID()
    var added: Date = .now
}

@Entity final class MacroBook: MacroItem {
    #Index<MacroBook>([\.year], [\.title, \.year])
    #Index<MacroBook>(.folded(\.title), .descending(\.year), name: "folded", where: "year > 0")
    #FetchedProperty("siblings", entity: "MacroBook", where: "year == $FETCH_SOURCE.year")

    @Attribute(minimumLength: 1, maximumLength: 80, rules: [ValidationRule("SELF != 'forbidden'", warning: "That title is taken.")])
    var title: String
    @Attribute(minimum: 1450, maximum: 2100) var year: Int?
    var author: MacroAuthor?
    var rating: Rating = .unrated
    var binding: Binding = .paper
    var cover: Binding?
    var tags: [String] = []
    var notes: [String: String] = [:]
    @Attribute(merge: .sum) var lent = 0
    @Attribute(.transient) var selected: Bool = false
    @Attribute(composite: "Place") var place: [String: PropertyValue]
    @Attribute(.external, .preserved, renamedFrom: "picture", version: "2") var image: Data?
    /// Not in the model.
    @Transient var draft = ""
    @Transient lazy var length = title.count

    /// Computed properties stay as they are.
    var label: String { "\(title) (\(year ?? 0))" }
}

@Entity("Writer", renamedFrom: "Person") final class MacroAuthor: ManagedObject {
    @Attribute(.unique, .indexed) var name: String
    @Attribute(derivation: "books.@count") var bookCount: Int
    @Relationship(deleteRule: .cascade, inverse: \MacroBook.author) var books: Set<MacroBook>
    var prizes: [MacroPrize]
    @Relationship(inverse: "pupils") var teacher: MacroAuthor?
    var pupils: ManagedSet<MacroAuthor>
}

@Entity final class MacroPrize: ManagedObject {
    var name: String
    var winner: MacroAuthor?
    @Relationship(inverse: nil) var runnerUp: MacroAuthor?
    @Relationship(inverse: nil) var jury: ManagedArray<MacroAuthor>
}

@Entity class MacroPart: ManagedObject {
    var label: String
}

@Entity final class MacroAssembly: MacroPart {
    @Relationship(inverse: nil) var parts: ManagedSet<MacroPart>
}

enum MacroLibrary {
    static let classes: [ManagedObject.Type] = [MacroBook.self, MacroAuthor.self, MacroPrize.self]

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(for: MacroBook.self, MacroAuthor.self, MacroPrize.self) {
            CompositeDescription("Place") { Attribute<String?>("city") }
        }
    }

    static func stack(_ kind: StoreKind) throws -> Stack { try Stack(kind, model(), classes + [MacroItem.self]) }
}
