import Foundation
import Hornbeam
import Testing

@Entity final class ChapterBook: ManagedObject {
    @Attribute(default: Chapter.number(1)) var chapter: Chapter
}

/// Snapshots as JSON and property lists.
@Suite struct SnapshotCodingTests {
    private func book(_ context: ManagedObjectContext) throws -> MacroBook {
        let author = MacroAuthor(in: context, name: "Mary")
        let book = MacroBook(
            in: context, title: "Frankenstein", year: 1818, author: author, rating: .good, cover: Binding(material: "cloth", weight: 1.5),
            tags: ["gothic"], place: ["city": .string("London")], image: Data([1, 2, 3]))
        book.code = "a"
        book.added = Date(timeIntervalSinceReferenceDate: 0.25)
        try context.save()
        return book
    }

    @Test("a decoded snapshot equals the encoded one, at every depth", arguments: StoreKind.allCases, [0, 1, 2])
    func roundTrips(kind: StoreKind, depth: Int) throws {
        let context = try MacroLibrary.stack(kind).newContext()
        let snapshot = try book(context).snapshot(depth: depth)
        let json = try JSONEncoder().encode(snapshot)
        let decoded = try JSONDecoder().decode(MacroBook.Snapshot.self, from: json)
        #expect(decoded == snapshot && decoded.hashValue == snapshot.hashValue)
        #expect(decoded.rating == .good && decoded.tags == ["gothic"] && decoded.cover?.weight == 1.5 && decoded.code == "a")
        #expect(decoded.author?.snapshot?.name == (depth > 0 ? "Mary" : nil))
        let list = try PropertyListEncoder().encode([snapshot])
        #expect(try PropertyListDecoder().decode([MacroBook.Snapshot].self, from: list) == [snapshot])
    }

    @Test("new objects come back equal, required values that are not set included")
    func unsetValuesRoundTrip() throws {
        let context = try MacroLibrary.stack(.inMemory).newContext()
        let snapshot = MacroBook(context: context).snapshot
        let decoded = try JSONDecoder().decode(MacroBook.Snapshot.self, from: JSONEncoder().encode(snapshot))
        #expect(decoded == snapshot && decoded.title == "" && decoded.year == nil)
    }

    @Test("JSON holds plain values: raw values of enums, structs as objects, dates by the strategy")
    func jsonIsPlain() throws {
        let context = try MacroLibrary.stack(.inMemory).newContext()
        let object = try book(context)
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let json = try JSONSerialization.jsonObject(with: encoder.encode(object.snapshot(including: \.author))) as? [String: Any]
        let found = try #require(json)
        #expect(found["objectID"] as? String == object.objectID.description && found["title"] as? String == "Frankenstein")
        #expect(found["rating"] as? Int == 2 && found["added"] as? String == "2001-01-01T00:00:00Z")
        #expect((found["cover"] as? [String: Any])?["material"] as? String == "cloth" && found["tags"] as? [String] == ["gothic"])
        #expect((found["place"] as? [String: Any])?["city"] as? String == "London" && found["image"] as? String == "AQID")
        #expect((found["author"] as? [String: Any])?["name"] as? String == "Mary")
        let plain = try JSONSerialization.jsonObject(with: encoder.encode(object.snapshot)) as? [String: Any]
        #expect(plain?["author"] as? String == object.author?.objectID.description)
    }

    @Test("a value of another type, an unknown raw value and a missing required attribute are errors")
    func malformedInputIsRefused() throws {
        let context = try MacroLibrary.stack(.inMemory).newContext()
        let text = String(decoding: try JSONEncoder().encode(book(context).snapshot), as: UTF8.self)
        func decode(_ text: String) throws { _ = try JSONDecoder().decode(MacroBook.Snapshot.self, from: Data(text.utf8)) }
        try decode(text)
        for (old, new) in [("\"rating\":2", "\"rating\":9"), ("\"rating\":2", "\"rating\":\"x\""), ("\"title\":", "\"titel\":"), ("\"objectID\":", "\"x\":")] {
            #expect(text.contains(old))
            #expect(throws: DecodingError.self, "\(new)") { try decode(text.replacing(old, with: new)) }
        }
    }

    @Test("null for a type without an empty value is an error")
    func nullWithoutAnEmptyValue() throws {
        let context = try Stack(.inMemory, ManagedObjectModel(for: ChapterBook.self), [ChapterBook.self]).newContext()
        let text = String(decoding: try JSONEncoder().encode(ChapterBook(context: context).snapshot), as: UTF8.self)
        let broken = text.replacing(#"{"number":{"_0":1}}"#, with: "null")
        #expect(broken != text)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ChapterBook.Snapshot.self, from: Data(broken.utf8)) }
    }

    @Test("an object of a subclass is encoded with all its values, and decoded with them where the decoder knows the subclass",
          arguments: StoreKind.allCases)
    func subclassRoundTrips(kind: StoreKind) throws {
        let context = try MacroLibrary.stack(kind).newContext()
        let item: MacroItem = try book(context)
        let snapshot = item.snapshot
        let json = try JSONEncoder().encode(snapshot)
        #expect(String(decoding: json, as: UTF8.self).contains("Frankenstein"))
        #expect(snapshot.as(MacroBook.self)?.title == "Frankenstein" && snapshot.as(MacroItem.self) == snapshot)

        let decoder = JSONDecoder()
        let plain = try decoder.decode(MacroItem.Snapshot.self, from: json)
        #expect(plain.code == "a" && plain["title"] == nil && plain.as(MacroBook.self) == nil && plain.id == snapshot.id)
        decoder.userInfo[.snapshotClasses] = MacroLibrary.classes
        let known = try decoder.decode(MacroItem.Snapshot.self, from: json)
        #expect(known == snapshot && known.as(MacroBook.self)?.rating == .good && known.as(MacroAuthor.self) == nil)
        #expect(try decoder.decode(MacroItem.Snapshot.self, from: JSONEncoder().encode(known)) == snapshot, "a decoded snapshot keeps its class")
        #expect(try decoder.decode(MacroBook.Snapshot.self, from: json) == snapshot.as(MacroBook.self))
    }

    @Test("objects of subclasses in a relationship keep their values in JSON", arguments: StoreKind.allCases)
    func subclassMembersRoundTrip(kind: StoreKind) throws {
        let context = try Stack(kind, ManagedObjectModel(for: MacroPart.self, MacroAssembly.self), [MacroPart.self, MacroAssembly.self]).newContext()
        let inner = MacroAssembly(in: context, label: "inner")
        inner.parts.insert(MacroPart(in: context, label: "screw"))
        let outer = MacroAssembly(in: context, label: "outer")
        outer.parts.insert(inner)
        try context.save()
        let snapshot = outer.snapshot(depth: 2)
        let json = try JSONEncoder().encode(snapshot)
        let decoder = JSONDecoder()
        #expect(try decoder.decode(MacroAssembly.Snapshot.self, from: json).parts?.map(\.label) == ["inner"])
        decoder.userInfo[.snapshotClasses] = [MacroAuthor.self, MacroAssembly.self]
        let known = try decoder.decode(MacroAssembly.Snapshot.self, from: json)
        #expect(known == snapshot && known.parts?.first?.as(MacroAssembly.self)?.parts?.map(\.label) == ["screw"])
    }

    @Test("a class of another entity, and a class that is no subclass of the declared one, are not chosen")
    func foreignClassesAreNotChosen() throws {
        let context = try MacroLibrary.stack(.inMemory).newContext()
        let author = MacroAuthor(in: context, name: "Mary")
        let decoder = JSONDecoder()
        decoder.userInfo[.snapshotClasses] = MacroLibrary.classes
        let json = try JSONEncoder().encode(author.snapshot)
        #expect(try decoder.decode(MacroAuthor.Snapshot.self, from: json) == author.snapshot)
        #expect(throws: DecodingError.self, "the JSON of an author is not an item") { try decoder.decode(MacroItem.Snapshot.self, from: json) }
    }

    @Test("a class that does not list a property in its tokens is named where its snapshot is encoded")
    func unlistedPropertiesAreNotLost() throws {
        let context = try Company.stack(.inMemory).newContext()
        let error = #expect(throws: EncodingError.self) { try JSONEncoder().encode(context.project("Apollo").snapshot) }
        #expect("\(String(describing: error))".contains("The class Project does not list the property “name” in `tokens`"))
    }

    @Test("a value of an entity without a class of its own is not lost: encoding throws")
    func valuesWithoutClassAreNotLost() throws {
        let model = try ManagedObjectModel {
            Entity("MacroPart") { MacroPart.label }
            Entity("Screw", parent: "MacroPart") { Attribute<Int?>("size") }
        }
        let context = try Stack(.inMemory, model, [MacroPart.self]).newContext()
        let screw = try #require(try context.insert(entityNamed: "Screw") as? MacroPart)
        let error = #expect(throws: EncodingError.self) { try JSONEncoder().encode(screw.snapshot) }
        #expect("\(String(describing: error))".contains("The class MacroPart does not list the property “size” in `tokens`"))
    }
}
