import Foundation
import Hornbeam
import Testing

/// Lookup of an object by a unique text, without requests and plans, with a cache of the objects found.
@Suite struct UniqueLookUpTests {
    final class Tag: ManagedObject {
        static let code = Attribute<String>("code", unique: true)
        static let note = Attribute<String?>("note")
        static let rank = Attribute<Int>("rank", default: 0)
    }

    private func container() throws -> PersistentContainer {
        let model = try ManagedObjectModel { Entity("Tag") { Tag.code; Tag.note; Tag.rank } }
        return try .inMemory(model: model, classes: [Tag.self])
    }

    private func add(_ codes: [String], to container: PersistentContainer) throws {
        try container.performAndWait { context in
            for code in codes { Tag(context: context)[Tag.code] = code }
            try context.save()
        }
    }

    /// Short and long texts, with zeros, with non-ASCII characters, and longer than the index stores.
    private static let codes =
        ["", "a", "ab", "a\u{0}b", "Ärger", "12345678", "123456789"]
        + [8, 16, 900, 901, 1500].map { String(repeating: "x", count: $0) } + (0..<300).map { "code \($0)" }

    @Test("FET-2: each value leads to its object, at the first look and at later ones, and other values to none")
    func valuesLeadToTheirObjects() throws {
        let container = try container()
        try add(Self.codes, to: container)
        let context = container.newContext()
        for _ in 0..<3 {
            for code in Self.codes {
                let found = try #require(try context.first(Tag.self, where: Tag.code, equals: code), "\(code.count)")
                #expect(found[Tag.code] == code)
                #expect(try context.first(Tag.self, where: Tag.code, equals: code + "?") == nil)
            }
        }
    }

    @Test("MOC-11: an object found is the one that the context has")
    func foundObjectsAreTheSame() throws {
        let container = try container()
        try add(["a", "b"], to: container)
        let context = container.newContext()
        let all = try context.fetch(FetchRequest<Tag>())
        #expect(try context.first(Tag.self, where: Tag.code, equals: "b") === all[1])
        #expect(try context.first(Tag.self, where: Tag.rank, equals: 0) === all[0])
    }

    @Test("FET-10: unsaved changes are included")
    func unsavedChangesTakePart() throws {
        let container = try container()
        try add(["a", "b"], to: container)
        let context = container.newContext()
        let a = try #require(try context.first(Tag.self, where: Tag.code, equals: "a"))
        a[Tag.code] = "c"
        let new = Tag(context: context)
        new[Tag.code] = "d"
        #expect(try context.first(Tag.self, where: Tag.code, equals: "a") == nil)
        #expect(try context.first(Tag.self, where: Tag.code, equals: "c") === a)
        #expect(try context.first(Tag.self, where: Tag.code, equals: "d") === new)
        context.delete(new)
        #expect(try context.first(Tag.self, where: Tag.code, equals: "d") == nil)
    }

    /// Values move between objects, objects are inserted and deleted, and contexts read different states:
    /// entries of the cache from one state are verified in another.
    @Test("random changes of unique values are found as a plain dictionary has them, in the newest state and in an older one", arguments: 1...8)
    func changesAgreeWithADictionary(seed: Int) throws {
        var random = SplitMix(UInt64(seed))
        let container = try container()
        let reader = container.newContext()
        var held: [String: Int] = [:]
        var next = 0
        for round in 0..<40 {
            let old = container.newContext()
            let before = held
            _ = try old.count(FetchRequest<Tag>())
            try old.setQueryGeneration(from: .current)
            try container.performAndWait { context in
                for _ in 0..<8 {
                    let code = "code \(Int.random(in: 0..<24, using: &random))"
                    let owner = try context.first(Tag.self, where: Tag.code, equals: code)
                    #expect(owner?[Tag.rank] == held[code], "seed \(seed), round \(round), \(code)")
                    if let owner, Bool.random(using: &random) {
                        context.delete(owner)
                        held[code] = nil
                    } else if let owner {
                        let other = "code \(Int.random(in: 0..<24, using: &random))"
                        guard held[other] == nil else { continue }
                        owner[Tag.code] = other
                        (held[other], held[code]) = (held[code], nil)
                    } else {
                        next += 1
                        let new = Tag(context: context)
                        new[Tag.code] = code
                        new[Tag.rank] = next
                        held[code] = next
                    }
                    try context.save()
                }
            }
            for number in 0..<24 {
                let code = "code \(number)"
                #expect(
                    try reader.first(Tag.self, where: Tag.code, equals: code)?[Tag.rank] == held[code], "seed \(seed), round \(round), \(code)")
                #expect(
                    try old.first(Tag.self, where: Tag.code, equals: code)?[Tag.rank] == before[code],
                    "older state, seed \(seed), round \(round), \(code)")
            }
        }
    }

    @Test("borrowed text equals the getter's: stored, changed, absent, long, and of a deleted object")
    func textsAreLentAsTheyShow() throws {
        let container = try container()
        let long = String(repeating: "long ", count: 4000)
        try container.performAndWait { context in
            for (code, note) in [("a", "stored"), ("b", nil), ("c", long), ("d", "")] as [(String, String?)] {
                let tag = Tag(context: context)
                tag[Tag.code] = code
                tag[Tag.note] = note
            }
            try context.save()
        }
        let context = container.newContext()
        for tag in try context.fetch(FetchRequest<Tag>()) {
            #expect(tag.withUTF8(of: Tag.code) { String(decoding: $0, as: UTF8.self) } == tag[Tag.code])
            #expect(tag.withUTF8(of: Tag.note) { $0.map { String(decoding: $0, as: UTF8.self) } } == tag[Tag.note])
            tag[Tag.note] = "changed"
            #expect(tag.withUTF8(of: Tag.note) { $0.map { String(decoding: $0, as: UTF8.self) } } == "changed")
            // Inside the closure the object's other properties can be read, also when the row has moved.
            #expect(tag.withUTF8(of: Tag.code) { code in tag[Tag.code].utf8.elementsEqual(code) })
        }
        // The borrowed bytes do not change, also when the context and the store switch to later states.
        let moving = container.newContext()
        let read = try #require(try moving.first(Tag.self, where: Tag.code, equals: "a"))
        #expect(read[Tag.note] == "stored")
        try read.withUTF8(of: Tag.code) { outer in
            try read.withUTF8(of: Tag.note) { note in
                for round in 0..<50 {
                    try container.performAndWait { context in
                        for tag in try context.fetch(FetchRequest<Tag>()) { tag[Tag.note] = "round \(round)" }
                        try context.save()
                    }
                    try moving.mergeChanges()
                }
                #expect(note.map { String(decoding: $0, as: UTF8.self) } == "stored")
            }
            #expect(String(decoding: outer, as: UTF8.self) == "a")
        }
        #expect(read[Tag.note] == "round 49")
        struct Refusal: Error {}
        let first = try #require(try context.fetch(FetchRequest<Tag>()).first)
        #expect(throws: Refusal.self) { try first.withUTF8(of: Tag.code) { (_) throws(Refusal) -> Int in throw Refusal() } }
    }
}
