import Foundation
import Hornbeam
import Testing

/// Objects of classes in macro form, in stores on disk and in memory.
@Suite struct MacroObjectTests {
    @Test("OBJ-16: a class that is listed binds its superclasses", arguments: StoreKind.allCases)
    func superclassesAreBound(kind: StoreKind) throws {
        let context = try Stack(kind, ManagedObjectModel(for: MacroAssembly.self), [MacroAssembly.self]).newContext()
        let assembly = MacroAssembly(in: context, parts: [MacroPart(in: context, label: "wheel")])
        assembly.label = "cart"
        try context.save()
        #expect(assembly.parts.map(\.label) == ["wheel"])
        #expect(try context.fetch(FetchRequest<MacroPart>()).count == 2)
    }

    @Test("OBJ-1: the initialiser has a parameter for every value, with the defaults", arguments: Setting.contexts)
    func initialisersHonourDefaults(setting: Setting) throws {
        let context = setting.context(of: try MacroLibrary.stack(setting.kind))
        let author = MacroAuthor(in: context, name: "Mary")
        let book = MacroBook(in: context, title: "Frankenstein", year: 1818, author: author, place: ["city": .string("London")])
        book.code = "a"
        #expect(book.rating == .unrated && book.binding == .paper && book.cover == nil && book.tags.isEmpty && book.notes == [:])
        #expect(book.lent == 0 && !book.selected && book.draft == "" && book.label == "Frankenstein (1818)")
        #expect(author.books == [book] && abs(book.added.timeIntervalSinceNow) < 60)
        try context.save()
        #expect(author.bookCount == 1)
    }

    @Test("CON-6: a write may end with a new object or with an unused result, in both forms", arguments: StoreKind.allCases)
    func writesNeedNoResult(kind: StoreKind) async throws {
        let container = try MacroLibrary.stack(kind).container
        func insertAndWait() throws {
            try container.write { MacroAuthor(in: $0, name: "a") }
            try container.write { context in
                MacroAuthor(in: context, name: "b")
                MacroAuthor(in: context, name: "c")
            }
            try container.write { MacroAuthor(in: $0, name: "d").objectID }
        }
        try insertAndWait()
        try await container.write { MacroAuthor(in: $0, name: "e") }
        try await container.write { MacroAuthor(in: $0, name: "f").objectID }
        let count = try await container.write { context in
            MacroAuthor(in: context, name: "g")
            return try context.count(MacroAuthor.self)
        }
        #expect(count == 7)
        #expect(try await container.performBackgroundTask { try $0.fetch(MacroAuthor.self).map(\.name).sorted() } == ["a", "b", "c", "d", "e", "f", "g"])
    }

    @Test("ATT-4: initial values that are calls are made for each object", arguments: Setting.contexts)
    func initialValuesAreMadeForEachObject(setting: Setting) throws {
        let context = setting.context(of: try MacroLibrary.stack(setting.kind))
        let first = MacroBook(context: context)
        let second = try context.insert(entityNamed: "MacroBook")
        #expect(first.id != (second as? MacroBook)?.id && first.id.uuidString != "00000000-0000-0000-0000-000000000000")
    }

    @Test("ATT-12: read enums, structs, lists and dictionaries equal the saved ones", arguments: StoreKind.allCases)
    func valuesComeBack(kind: StoreKind) throws {
        let stack = try MacroLibrary.stack(kind)
        let context = stack.newContext()
        let book = MacroBook(in: context, title: "t", place: [:])
        book.code = "a"
        book.rating = .good
        book.binding.weight = 3
        book.cover = Binding(material: "cloth", weight: 1)
        book.tags.append("x")
        book.notes["k"] = "v"
        book.image = Data([1, 2])
        try context.save()
        let same = try stack.newContext().existingObject(MacroBook.self, with: book.objectID)
        #expect(same.rating == .good && same.binding == Binding(material: "paper", weight: 3) && same.cover?.material == "cloth")
        #expect(same.tags == ["x"] && same.notes == ["k": "v"] && same.image == Data([1, 2]))
        #expect(try stack.newContext().count(FetchRequest<MacroBook>().where(MacroBook.rating == .good)) == 1)
    }

    @Test("ATT-5, ATT-7, ATT-8: the rules of the attributes are checked at save", arguments: Setting.contexts)
    func limitsAreChecked(setting: Setting) throws {
        let context = setting.context(of: try MacroLibrary.stack(setting.kind))
        let book = MacroBook(in: context, title: "forbidden", year: 1000, place: [:])
        book.code = "a"
        let error = hornbeamError { try context.save() }
        #expect(Set((error?.details ?? []).map { $0.key ?? "" }) == ["title", "year"])
    }

    @Test("REL-3: sets and arrays are values; setting them changes only the members that differ", arguments: StoreKind.allCases)
    func collectionsAreValues(kind: StoreKind) throws {
        let stack = try MacroLibrary.stack(kind)
        let context = stack.newContext()
        let author = MacroAuthor(in: context, name: "Mary")
        let books = (1...3).map { number in
            let book = MacroBook(in: context, title: "\(number)", place: [:])
            book.code = "\(number)"
            return book
        }
        author.books.insert(books[0])
        author.books.formUnion(books[1...])
        #expect(author.books == Set(books) && books[2].author === author)
        var copy = author.books
        copy.remove(books[0])
        #expect(author.books.count == 3 && books[0].author === author)
        author.books = copy
        #expect(books[0].author == nil && author[MacroAuthor.books].count == 2 && author[MacroAuthor.books].contains(books[1]))
        author.prizes = ["b", "a"].map { MacroPrize(in: context, name: $0) }
        author.prizes.sort { $0.name < $1.name }
        author.prizes.append(MacroPrize(in: context, name: "c"))
        try context.save()
        let other = stack.newContext()
        let same = try other.existingObject(MacroAuthor.self, with: author.objectID)
        #expect(same.prizes.map(\.name) == ["a", "b", "c"] && same.prizes[0].winner === same)
        #expect(same.books.map(\.title).sorted() == ["2", "3"] && !other.hasChanges)
    }

    @Test("REL-4: one-way relationships change one end", arguments: Setting.contexts)
    func oneWayRelationships(setting: Setting) throws {
        let context = setting.context(of: try MacroLibrary.stack(setting.kind))
        let author = MacroAuthor(in: context, name: "Mary", pupils: [MacroAuthor(in: context, name: "Ada")])
        let prize = MacroPrize(in: context, name: "p", runnerUp: author, jury: [author])
        #expect(prize.jury.count == 1 && author.prizes.isEmpty && author.pupils.first?.teacher === author)
        try context.save()
    }

    @Test("#Predicate reads properties in the macro form", arguments: StoreKind.allCases)
    func predicatesReadProperties(kind: StoreKind) throws {
        let stack = try MacroLibrary.stack(kind)
        let context = stack.newContext()
        let author = MacroAuthor(in: context, name: "Mary")
        let book = MacroBook(in: context, title: "Frankenstein", year: 1818, author: author, place: [:])
        book.code = "a"
        try context.save()
        func count<Object: ManagedObject>(_ predicate: Predicate<Object>) throws -> Int {
            var request = FetchRequest<Object>()
            request.predicate = try FetchPredicate(predicate)
            return try context.count(request)
        }
        #expect(try count(#Predicate<MacroBook> { $0.title == "Frankenstein" && $0.author?.name == "Mary" }) == 1)
        #expect(try count(#Predicate<MacroAuthor> { $0.books.count == 1 && $0.books.contains { $0.code == "a" } }) == 1)
        #expect(try count(#Predicate<MacroAuthor> { $0.books.isEmpty }) == 0)
        #expect(try count(#Predicate<MacroAuthor> { $0.prizes.isEmpty }) == 1)
    }

    @Test("CON-1: a container is opened for classes alone", arguments: StoreKind.allCases)
    func containersOpenForClasses(kind: StoreKind) async throws {
        let container =
            switch kind {
            case .inMemory: try PersistentContainer.inMemory(for: MacroModelTests.Within.Node.self)
            case .onDisk, .shared:
                try await PersistentContainer.open(at: Stack.freshDescription(kind).url, for: MacroModelTests.Within.Node.self)
            case .onServer: try await PersistentContainer.open(Stack.freshDescription(kind), for: MacroModelTests.Within.Node.self)
            }
        let count = try await container.performBackgroundTask { context in
            let parent = MacroModelTests.Within.Node(in: context)
            _ = MacroModelTests.Within.Node(in: context, parent: parent)
            try context.save()
            return parent.children.count
        }
        #expect(count == 1)
        try container.close()
    }
}
