import Foundation
import Hornbeam
import Testing

/// The code of the article “Describe a model”.
@Suite struct DescribingModelsTests {
    private enum Plain {
        // snippet
        @Entity final class Album: ManagedObject {
            var title: String
            var year: Int?
            var added: Date = .now
            var tags: [String] = []
            var artist: Artist?
            var tracks: [Track]
        }

        @Entity final class Artist: ManagedObject {
            var name: String
            var albums: Set<Album>
        }

        @Entity final class Track: ManagedObject {
            var title: String
            var album: Album?
        }
        // end
    }

    @Test func typesDecide() throws {
        typealias Album = Plain.Album
        typealias Artist = Plain.Artist
        let container = try PersistentContainer.inMemory(for: Album.self, Artist.self, Plain.Track.self)
        try container.write { context in
            // snippet
            let artist = Artist(in: context, name: "Clara Schumann")
            let album = Album(in: context, title: "Piano Trio", year: 1846, artist: artist)
            // end
            #expect(artist.albums == [album] && album.tags.isEmpty)
        }
        let album = try container.managedObjectModel.entity(named: "Album")
        #expect(album.relationships.map(\.isOrdered) == [false, true])
        #expect(album.attributes.map(\.isOptional) == [false, true, false, false])
    }

    private enum Rules {
        // snippet
        @Entity final class Account: ManagedObject {
            #Index<Account>([\.name])
            @Attribute(.unique, pattern: ".+@.+") var mail: String
            @Attribute(minimumLength: 1, maximumLength: 80) var name: String
            @Attribute(minimum: 0) var balance: Decimal = 0
            @Relationship(deleteRule: .cascade, inverse: \Order.account) var orders: Set<Order>
            @Attribute(derivation: "orders.@count") var orderCount: Int
        }

        @Entity final class Order: ManagedObject {
            var number: Int
            var account: Account?
        }
        // end
    }

    @Test func saveThrowsAllViolations() throws {
        let container = try PersistentContainer.inMemory(for: Rules.Account.self, Rules.Order.self)
        let context = container.newContext()
        let account = Rules.Account(in: context, mail: "nowhere", name: "")
        let error = #expect(throws: HornbeamError.self) { try context.save() }
        #expect(Set(error?.details.map(\.key) ?? []) == ["mail", "name"])
        account.mail = "ada@example.org"
        account.name = "Ada"
        Rules.Order(in: context, number: 1, account: account)
        try context.save()
        #expect(account.orderCount == 1)
    }

    private enum Hierarchy {
        // snippet
        @Entity(abstract: true) class Item: ManagedObject {
            var title: String
        }

        @Entity final class Book: Item {
            var pages: Int = 0
        }

        @Entity final class Film: Item {
            var minutes: Int = 0
        }
        // end
    }

    @Test func requestForASuperentityFindsAll() throws {
        let container = try PersistentContainer.inMemory(for: Hierarchy.Book.self, Hierarchy.Film.self)
        let context = container.newContext()
        Hierarchy.Book(in: context, pages: 200).title = "Persuasion"
        Hierarchy.Film(in: context, minutes: 90).title = "Metropolis"
        try context.save()
        #expect(try context.fetch(FetchRequest<Hierarchy.Item>().sorted(by: \.title)).map(\.title) == ["Metropolis", "Persuasion"])
    }
}
