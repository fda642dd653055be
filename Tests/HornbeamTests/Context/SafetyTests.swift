import Foundation
import Testing

/// Code that the compiler must refuse, so that objects and contexts are used only in their isolation.
@Suite(.enabled(if: Compiler.isHere)) struct SafetyTests {
    static let model = """
        import Foundation
        import Hornbeam
        final class Event: ManagedObject {
            static let name = Attribute<String>("name")
            static let place = ToOne<Place>("place")
            override class var tokens: [any PropertyToken] { [name, place] }
            var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
            var place: Place? { get { self[Self.place] } set { self[Self.place] = newValue } }
            var cached = 0
            override func willSave() { cached += 1 }
        }
        final class Place: ManagedObject {
            static let events = ToMany<Event>("events")
            var events: ManagedSet<Event> { get { self[Self.events] } set { self[Self.events] = newValue } }
        }
        """

    @Test("correct code compiles, with and without default isolation to the main actor", arguments: [false, true])
    func rightUseCompiles(mainActor: Bool) throws {
        let source = Self.model + """

            func work(_ container: PersistentContainer) async throws -> [ManagedObjectID] {
                let id = try await container.performBackgroundTask { context in
                    let event = Event(context: context)
                    event.name = "a"
                    event.place = Place(context: context)
                    try context.save()
                    return event.objectID
                }
                return [id]
            }
            @MainActor func show(_ container: PersistentContainer, _ id: ManagedObjectID) throws -> String {
                let event = try container.viewContext.existingObject(Event.self, with: id)
                for other in event.place?.events ?? [] { other.name = "b" }
                return event.name
            }
            actor Importer {
                let context: ManagedObjectContext
                init(_ container: PersistentContainer) { context = container.newContext() }
                func add() throws { Event(context: context).name = "c"; try context.save() }
            }
            """
        #expect(try Compiler.errors(in: source, mainActor: mainActor) == "")
    }

    static let wrong: [(String, String, String)] = [
        (
            "an object out of a background task",
            "func f(_ c: PersistentContainer) async throws { _ = try await c.performBackgroundTask { Event(context: $0) } }",
            "A managed object is confined to its context"
        ),
        (
            "a context out of a background task",
            "func f(_ c: PersistentContainer) async throws { _ = try await c.performBackgroundTask { $0 } }",
            "A context is confined to the isolation that made it"
        ),
        (
            "an object into a background task",
            "func f(_ c: PersistentContainer, _ e: Event) async throws { try await c.performBackgroundTask { _ in e.name = \"x\" } }",
            "non-Sendable type 'Event'"
        ),
        (
            "an object out of a background context",
            "func f(_ b: BackgroundContext) async throws { _ = try await b.perform { Event(context: $0) } }",
            "A managed object is confined to its context"
        ),
        (
            "a to-many view out of a background context",
            "func f(_ b: BackgroundContext) async throws { _ = try await b.perform { Place(context: $0).events } }",
            "ManagedSet<Event>"
        ),
        (
            "an object of the view context into a detached task",
            "@MainActor func f(_ c: PersistentContainer) { let e = Event(context: c.viewContext); Task.detached { print(e.name) } }",
            "data race"
        ),
        (
            "the view context off the main actor",
            "nonisolated func f(_ c: PersistentContainer) { _ = c.viewContext }",
            "main actor-isolated property 'viewContext' can not be referenced"
        ),
        (
            "an object smuggled out through a captured variable",
            "func f(_ b: BackgroundContext) async throws { var e: Event?; try await b.perform { e = Event(context: $0) }; print(e!) }",
            "captured var 'e' in concurrently-executing code"
        ),
        (
            "a context that was handed over and is used on",
            "func f(_ c: PersistentContainer) { let m = c.newContext(); Task.detached { _ = m.hasChanges }; _ = m.hasChanges }",
            "data race"
        ),
        (
            "a child of the view context into a detached task",
            "@MainActor func f(_ c: PersistentContainer) { let m = c.viewContext.newChildContext(); Task.detached { _ = m.hasChanges } }",
            "data race"
        ),
    ]

    @Test("MOC-1: passing an object or a context to another isolation does not compile", arguments: wrong.indices)
    func crossingDoesNotCompile(index: Int) throws {
        let (what, source, message) = Self.wrong[index]
        let errors = try Compiler.errors(in: Self.model + "\n" + source, mainActor: false)
        #expect(errors.contains(message), "\(what): \(errors)")
    }

    /// One function each, which the type checker must refuse, with the reason.
    static let untyped: [(what: String, source: String, message: String)] = [
        ("a value of another type", "func f(_ e: Event) { e[Event.name] = 3 }", "Int"),
        ("no value where one is required", "func f(_ e: Event) { e[Event.name] = nil }", "nil"),
        ("an object of another class at the end of a to-one", "func f(_ e: Event) { e[Event.place] = e }", "Event"),
        ("an object of another class in a to-many", "func f(_ e: Event, _ p: Place) { p.events.insert(p) }", "Place"),
        ("a to-many assigned to a to-one", "func f(_ e: Event, _ p: Place) { e.place = p.events }", "ManagedSet<Event>"),
        ("a change of a relationship through a constant", "func f(_ e: Event, _ p: Place) { let s = p.events; s.insert(e) }", "'s' is a 'let' constant"),
        ("a change of a set that is nowhere kept", "func f(_ e: Event) { ManagedSet([e]).insert(e) }", "immutable"),
        ("results of another class", "func f(_ c: ManagedObjectContext) throws -> [Place] { try c.fetch(FetchRequest<Event>()) }", "Place"),
        ("an object where an ID is wanted", "func f(_ c: ManagedObjectContext, _ e: Event) { _ = c.object(with: e) }", "ManagedObjectID"),
        ("a comparison with another type", "func f() -> FetchPredicate { Event.name == 3 }", "error"),
        ("a batch row's value of another type", "func f(_ r: BatchRow) { r.set(Event.name, 3) }", "error"),
        ("a set of IDs that is read-only", "func f(_ e: Event, _ i: ManagedObjectID) { e.objectID = i }", "objectID"),
        ("an object made without a context", "func f() -> Event { Event() }", "argument"),
        ("a lazy result out of a background context",
         "func f(_ b: BackgroundContext) async throws { _ = try await b.perform { try $0.fetchLazily(FetchRequest<Event>()) } }",
         "FetchedObjects<Event>"),
        ("an undo stack out of a background context",
         "func f(_ b: BackgroundContext) async throws { _ = try await b.perform { $0.undoStack } }", "undo stack"),
        ("an object in a global variable", "let shared: Event? = nil", "shared"),
        ("a misspelt key of an upsert", "func f(_ c: ManagedObjectContext) throws { _ = try c.upsert(Event.self, where: \\.nmae, is: \"x\") }", "error"),
        ("an upsert by a value of another type", "func f(_ c: ManagedObjectContext) throws { _ = try c.upsert(Event.self, where: \\.name, is: 3) }", "Int"),
        ("a misspelt key in the condition of an upsert", "func f(_ c: ManagedObjectContext) throws { _ = try c.upsert(Event.self) { $0.nmae == \"x\" } }", "nmae"),
        ("an upsert by an object of another class", "func f(_ c: ManagedObjectContext, _ e: Event) throws { _ = try c.upsert(Event.self) { $0.place == e } }", "error"),
        ("a misspelt member of a snapshot", "func f(_ e: Event) { _ = e.snapshot.nmae }", "nmae"),
        ("a snapshot's value as another type", "func f(_ e: Event) -> Int { e.snapshot.name }", "error"),
        ("a member of a class that is no property, of a snapshot", "func f(_ e: Event) { _ = e.snapshot.cached }", "cached"),
        ("a misspelt key of a selection", "func f() { _ = Event.select(\\.nmae) }", "error"),
        ("an object in a task's value", "func f(_ e: Event) -> Task<Event, Never>? { nil }", "managed object"),
    ]

    @Test("values, objects and results of a wrong type do not compile")
    func wrongTypesDoNotCompile() throws {
        let source = Self.model + "\n" + Self.untyped.map { $0.source }.joined(separator: "\n")
        let first = Self.model.split(separator: "\n", omittingEmptySubsequences: false).count + 1
        let errors = try Compiler.errors(in: source, mainActor: false).split(separator: "\n").map(String.init)
        for (offset, wrong) in Self.untyped.enumerated() {
            let here = errors.filter { $0.contains(".swift:\(first + offset):") && $0.contains("error:") }
            #expect(here.contains { $0.contains(wrong.message) }, "\(wrong.what): \(here)")
        }
    }
}

/// The compiler that built the tests, and its modules.
enum Compiler {
    static var isHere: Bool { modules != nil && swiftc != nil }

    private static let modules: URL? = {
        let folders = [CommandLine.arguments[0], Bundle.main.bundlePath].map {
            URL(filePath: $0).deletingLastPathComponent().appending(path: "Modules")
        }
        return folders.first { FileManager.default.fileExists(atPath: $0.appending(path: "Hornbeam.swiftmodule").path) }
    }()

    private static let swiftc: URL? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { URL(filePath: String($0)).appending(path: "swiftc") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }()

    /// The compiler's diagnostics for a file that imports Hornbeam; empty when it compiles.
    static func errors(in source: String, mainActor: Bool) throws -> String {
        guard let modules, let swiftc else { return "no compiler" }
        let file = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let root = (0 ..< 4).reduce(URL(filePath: #filePath)) { folder, _ in folder.deletingLastPathComponent() }
        let process = Process()
        process.executableURL = swiftc
        process.arguments = [
            "-swift-version", "6", "-emit-sil", "-o", "/dev/null", "-parse-as-library", "-I", modules.path, "-I",
            root.appending(path: "Sources/CLZ4").path, "-I", root.appending(path: "Sources/CSystem").path, file.path,
        ] + (mainActor ? ["-default-isolation", "MainActor"] : [])
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? "" : text
    }
}
