import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Derived attributes in batches")
struct DerivedBatchTests {
    private static func words() throws -> Library {
        try Library(
            model: ManagedObjectModel {
                Entity("Word") {
                    Attribute<String?>("text")
                    Attribute<Int?>("length", indexed: true)
                    Attribute<String?>("folded", derivation: "canonical:(text)")
                    Unique("folded")
                }
            })
    }

    private static func files() throws -> Library {
        try Library(
            model: ManagedObjectModel {
                Entity("File") {
                    Attribute("code", .integer64, optional: true, unique: true)
                    Attribute<Int>("folder")
                    Attribute<String?>("name")
                    Attribute<String?>("folded", derivation: "canonical:(name)")
                    Unique("folder", "folded")
                }
            })
    }

    @Test("ATT-11, BAT-1: a row whose derived unique value is stored, or that of an earlier row, is skipped", arguments: [0, 1])
    func skip(commitEvery: Int) throws {
        let library = try Self.words()
        let stored = try library.insert("Word", ["text": "Ada"])
        let outcomes = try library.insertBatch(
            [["text": "ADA"], ["text": "Bob", "length": 3], ["text": "BOB"], [:], [:]], of: "Word", .skip, commitEvery: commitEvery)
        #expect(outcomes.map(\.action) == ["skipped", "inserted", "skipped", "inserted", "inserted"])
        #expect(outcomes[0].object == stored && outcomes[2].object == outcomes[1].object)
        #expect(try library.value(stored, "text") == "Ada" && library.value(outcomes[1].object, "text") == "Bob")
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, BAT-1: a row updates the object with its derived unique value, also one that an earlier row has inserted or renamed", arguments: [0, 1])
    func update(commitEvery: Int) throws {
        let library = try Self.words()
        let stored = try library.insert("Word", ["text": "Ada", "length": 3])
        let outcomes = try library.insertBatch(
            [["text": "ADA"], ["text": "Bob", "length": 3], ["text": "BOB", "length": 4]], of: "Word", .update, commitEvery: commitEvery)
        #expect(outcomes.map(\.action) == ["updated", "inserted", "updated"])
        #expect(try library.value(stored, "text") == "ADA" && library.value(stored, "length") == 3)
        #expect(try library.value(outcomes[1].object, "text") == "BOB" && library.value(outcomes[1].object, "length") == 4)
        #expect(try library.value(outcomes[1].object, "folded") == "bob")
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, BAT-1: a row that updates an object claims the key with the new derived value, and frees the former key for the next row")
    func keysOfPlainAndDerivedValues() throws {
        let library = try Self.files()
        let moved = try library.insert("File", ["code": 1, "folder": 1, "name": "x"])
        let other = try library.insert("File", ["code": 2, "folder": 2, "name": "X"])
        let outcomes = try library.insertBatch(
            [["code": 1, "folder": 2, "name": "Y"], ["code": 3, "folder": 1, "name": "X"], ["folder": 2, "name": "y"]], of: "File", .update)
        #expect(outcomes.map(\.action) == ["updated", "inserted", "updated"] && outcomes[0].object == moved && outcomes[2].object == moved)
        #expect(try library.value(moved, "folded") == "y" && library.value(moved, "code") == 1 && library.value(other, "folded") == "x")
        #expect(throws: SaveConflicts.self) { try library.insert("File", ["folder": 2, "name": "Y"]) }
        #expect(throws: SaveConflicts.self) { try library.insertBatch([["code": 1, "folder": 2, "name": "x"]], of: "File", .update) }
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, BAT-1: derived unique values of related objects and of the row's members are looked up")
    func valuesOfRelatedObjects() throws {
        let library = try Library(
            model: ManagedObjectModel {
                Entity("Book") { Attribute<String?>("title") }
                Entity("Copy") {
                    Attribute<Int?>("number")
                    Attribute<String?>("note")
                    ToOne("book", to: "Book")
                    Attribute<String?>("title", derivation: "uppercase:(book.title)")
                    Unique("title", "number")
                }
                Entity("Team") {
                    Attribute<String?>("name")
                    Attribute<Int?>("size", derivation: "players.@count")
                    Attribute<Int?>("goals", derivation: "players.goals.@sum")
                    ToMany("players", to: "Player", inverse: "team")
                    Unique("size", "goals")
                }
                Entity("Player") {
                    Attribute<Int?>("goals")
                    ToOne("team", to: "Team", inverse: "players")
                }
            })
        let books = try ["a", "A", "b"].map { try library.insert("Book", ["title": .string($0)]) }
        let stored = try library.insert("Copy", ["number": 1, "book": library.id(books[0])])
        let copies = try library.insertBatch(
            [["number": 1, "book": library.id(books[1]), "note": "n"], ["number": 1, "book": library.id(books[2])]], of: "Copy", .update)
        #expect(copies.map(\.action) == ["updated", "inserted"] && copies[0].object == stored)
        #expect(try library.value(stored, "note") == "n" && library.value(stored, "book") == library.id(books[1]))
        let players = try [1, 2, 3].map { try library.insert("Player", ["goals": $0]) }
        let teams = try library.insertBatch(
            [["name": "x"], ["name": "y"]], of: "Team", .skip, members: [["players": [players[0], players[1], players[0]]], ["players": [players[2]]]])
        #expect(teams.map(\.action) == ["inserted", "inserted"])
        let more = try [1, 2].map { try library.insert("Player", ["goals": $0]) }
        let again = try library.insertBatch([["name": "z"]], of: "Team", .skip, members: [["players": more]])
        #expect(again.map(\.action) == ["skipped"] && again[0].object == teams[0].object)
        try library.insert("Team", ["name": "empty"])
        let alone = try library.insertBatch([["name": "z"]], of: "Team", .fail, members: [["players": [more[0]]]])
        #expect(try library.value(alone[0].object, "size") == 1 && library.value(alone[0].object, "goals") == 1)
        #expect(try library.store.check().problems == [])
    }

    @Test("ATT-11, BAT-1: the conflict of a derived unique value names the row of the request", arguments: [true, false])
    func conflictsNameTheRow(isStored: Bool) throws {
        let library = try Self.words()
        let stored = isStored ? try library.insert("Word", ["text": "ada"]) : nil
        let rows: [Library.Values] = [["text": isStored ? "Eve" : "Ada"], ["text": "Bob"], ["text": "ADA"], ["text": "Dan"]]
        let conflicts = try #require(throws: SaveConflicts.self) { try library.insertBatch(rows, of: "Word", .fail) }
        #expect(conflicts.uniques.map(\.row) == [3] && conflicts.uniques[0].objectIDs.isEmpty)
        #expect(conflicts.uniques[0].existing != nil && (stored == nil || conflicts.uniques[0].existing == stored))
        #expect(conflicts.error.message.contains("row 3 of the batch"), "\(conflicts.error)")
        #expect(try library.store.check().problems == [])
    }

    // MARK: now()

    /// People and their cards, with the date of the last change of each row.
    private struct Cards {
        let library: Library
        let people: [ObjectReference]
        let card: ObjectReference

        init() throws {
            library = try Library(
                model: ManagedObjectModel {
                    Entity("Person") {
                        Attribute<String?>("name")
                        Attribute<Date?>("changed", derivation: "now()")
                        ToOne("card", to: "Card", inverse: "holder")
                    }
                    Entity("Card") {
                        Attribute("code", .string, unique: true)
                        Attribute<Date?>("changed", derivation: "now()")
                        ToOne("holder", to: "Person", inverse: "card")
                    }
                })
            people = try [library.insert("Person", ["name": "Ada"]), library.insert("Person", ["name": "Bob"])]
            card = try library.insert("Card", ["code": "1", "holder": library.id(people[0])])
            try library.update(people[0], ["card": library.id(card)])
        }

        /// The objects whose `changed` differs after the body.
        func changed(_ body: () throws -> Void) throws -> [ObjectReference] {
            let all = people + [card]
            let before = try all.map { try library.value($0, "changed") }
            try body()
            return try zip(all, before).filter { try library.value($0, "changed") != $1 }.map(\.0)
        }
    }

    @Test("ATT-11, BAT-1: a row that updates an object updates its now(), and that of the former and the new partners")
    func nowOfUpdatingRows() throws {
        let cards = try Cards()
        #expect(try cards.changed { try cards.library.insertBatch([["code": "1"]], of: "Card", .skip) } == [])
        let row: Library.Values = ["code": "1", "holder": cards.library.id(cards.people[1])]
        #expect(try cards.changed { try cards.library.insertBatch([row], of: "Card", .update) } == cards.people + [cards.card])
        #expect(try cards.library.value(cards.people[0], "card") == .null && cards.library.value(cards.people[1], "card") == cards.library.id(cards.card))
    }

    @Test("ATT-11, BAT-2: a batch update updates now() of the rows of the former and the new partners")
    func nowOfPartners() throws {
        let cards = try Cards()
        let holder = try FetchExpression(format: "%@", cards.library.id(cards.people[1]))
        let update = BatchUpdate(request: FetchDescription(entityName: "Card"), assignments: [.init(cards.library.property("holder", of: "Card"), holder)])
        #expect(try cards.changed { _ = try cards.library.store.update(update) } == cards.people + [cards.card])
    }

    @Test("ATT-11, BAT-3: a batch delete updates now() of the rows whose references it clears")
    func nowOfClearedReferences() throws {
        let cards = try Cards()
        let before = try cards.people.map { try cards.library.value($0, "changed") }
        _ = try cards.library.store.delete(BatchDelete(request: FetchDescription(entityName: "Card")))
        let after = try cards.people.map { try cards.library.value($0, "changed") }
        #expect(after[0] != before[0] && after[1] == before[1])
        #expect(try cards.library.value(cards.people[0], "card") == .null)
    }
}
