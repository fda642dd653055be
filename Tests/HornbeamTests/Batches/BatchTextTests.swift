import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Batch updates of texts and other values of variable length: in all objects of many leaves, beside values that are stored outside them.
@Suite("Texts in batches")
struct BatchTextTests {
    final class Note: ManagedObject {
        static let number = Attribute<Int>("number")
        static let title = Attribute<String>("title")
        static let remark = Attribute<String?>("remark", maximumLength: 10_000)
        static let link = Attribute<URL?>("link")
        static let price = Attribute<Decimal?>("price")
        static let content = Attribute<Data?>("content")
    }

    /// The expected values of a note.
    struct Values: Equatable {
        var title = ""
        var remark: String?
        var link: URL?
        var price: Decimal?
        var content: Data?
    }

    private func makeStack(_ kind: StoreKind, _ count: Int) throws -> (Stack, [Values]) {
        let model = try ManagedObjectModel { Entity("Note") { Note.number; Note.title; Note.remark; Note.link; Note.price; Note.content } }
        let stack = try Stack(kind, model, [Note.self])
        let context = stack.newContext()
        let values = (0 ..< count).map { number -> Values in
            var value = Values(title: "note \(number)")
            if number % 2 == 1 { value.remark = "remark \(number)" }
            if number % 5 == 0 { value.link = URL(string: "https://a.org/\(number)") }
            if number % 3 == 0 { value.price = Decimal(number) / 4 }
            if number % 7 == 0 { value.content = Data([1, 2, 3]) }
            // Too large for a leaf.
            if number % 400 == 7 { value.content = Data(repeating: UInt8(number % 251), count: 9000) }
            return value
        }
        for (number, value) in values.enumerated() {
            let note = Note(context: context)
            note[Note.number] = number
            note[Note.title] = value.title
            note[Note.remark] = value.remark
            note[Note.link] = value.link
            note[Note.price] = value.price
            note[Note.content] = value.content
        }
        try context.save()
        return (stack, values)
    }

    private func expect(_ values: [Values], in stack: Stack, _ what: String) throws {
        let notes = try stack.newContext().fetch(FetchRequest<Note>().sorted(by: "number"))
        #expect(notes.count == values.count)
        for (note, value) in zip(notes, values) {
            let found = Values(
                title: note[Note.title], remark: note[Note.remark], link: note[Note.link], price: note[Note.price], content: note[Note.content])
            try #require(found == value, "note \(note[Note.number]) after: \(what)")
        }
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-2: values of variable length are set in many objects, also beside large values and with other columns", arguments: StoreKind.allCases)
    func manyTexts(kind: StoreKind) throws {
        var (stack, values) = try makeStack(kind, 3000)
        func update(_ what: String, _ predicate: FetchPredicate?, _ set: (inout BatchUpdateRequest) throws -> Void, _ change: (Int, inout Values) -> Void) throws {
            var request = BatchUpdateRequest(Note.self, predicate: predicate)
            try set(&request)
            try stack.newContext().execute(request)
            for number in values.indices { change(number, &values[number]) }
            try expect(values, in: stack, what)
        }
        try update("a short text where there was none", Note.remark == nil) { $0.set(Note.remark, to: "none") } _: { _, value in
            if value.remark == nil { value.remark = "none" }
        }
        try update("a longer text everywhere, and nil", nil) {
            $0.set(Note.remark, to: String(repeating: "ä", count: 90))
            $0.set(Note.link, to: nil)
        } _: { _, value in
            value.remark = String(repeating: "ä", count: 90)
            value.link = nil
        }
        try update("large values are replaced", Note.content != nil) {
            $0.set(Note.content, to: Data([9]))
            $0.set(Note.price, to: Decimal(string: "12.50"))
        } _: { _, value in
            guard value.content != nil else { return }
            value.content = Data([9])
            value.price = Decimal(string: "12.50")
        }
        try update("an empty text", Note.number < 1000) { $0.set(Note.remark, to: "") } _: { number, value in
            if number < 1000 { value.remark = "" }
        }
        let long = String(repeating: "long ", count: 1500)
        try update("a text that is too long for a leaf", Note.number >= 2900) { $0.set(Note.remark, to: long) } _: { number, value in
            if number >= 2900 { value.remark = long }
        }
        try update("a text beside another that is computed", Note.number < 50) {
            $0.set(Note.title, to: "same")
            $0.set(Note.price, to: try FetchExpression(format: "price * 2"))
        } _: { number, value in
            guard number < 50 else { return }
            value.title = "same"
            value.price = value.price.map { $0 * 2 }
        }
        try update("short texts make leaves sparse", nil) {
            $0.set(Note.remark, to: nil)
            $0.set(Note.title, to: "t")
            $0.set(Note.content, to: nil)
        } _: { _, value in (value.remark, value.title, value.content) = (nil, "t", nil) }
    }

    @Test("BAT-2: a text that breaks a rule of the model is refused, and changes nothing", arguments: StoreKind.allCases)
    func refusedTexts(kind: StoreKind) throws {
        let (stack, values) = try makeStack(kind, 50)
        var request = BatchUpdateRequest(Note.self)
        request.set(Note.remark, to: String(repeating: "x", count: 10_001))
        request.validatesValues = true
        let error = hornbeamError { try stack.newContext().execute(request) }
        #expect(error?.key == "remark")
        request = BatchUpdateRequest(entityName: "Note")
        request.set("title", to: .null)
        #expect(hornbeamError { try stack.newContext().execute(request) }?.code == .missingRequiredValue)
        try expect(values, in: stack, "refused updates")
    }

    @Test("BAT-2: hundreds of attributes are set at once", arguments: StoreKind.allCases)
    func manyAttributes(kind: StoreKind) throws {
        let names = (0 ..< 300).map { "number\($0)" }
        let model = try ManagedObjectModel {
            Entity("Wide") { for name in names { Hornbeam.Attribute(name, .integer16, optional: true) } }
        }
        let context = try Stack(kind, model, []).newContext()
        for _ in 0 ..< 20 { _ = try context.insert(entityNamed: "Wide") }
        try context.save()
        var request = BatchUpdateRequest(entityName: "Wide")
        for name in names { request.set(name, to: try FetchExpression(format: "7")) }
        #expect(try context.execute(request).count == 20)
        let wide = try context.fetch(FetchRequest<ManagedObject>(entityName: "Wide"))
        #expect(try wide.allSatisfy { object in try names.allSatisfy { try object.value(forKey: $0) == .int(7) } })
    }
}
