import Foundation
import Hornbeam
import HornbeamModel
import HornbeamStore
import HornbeamXcodeModels
import Testing

@testable import HornbeamTool

/// `hornbeam migrate` and `hornbeam model diff`.
@Suite struct MigrateCommandTests {
    private let folder = TemporaryFolder()

    private func write(_ contents: String, version: String) throws {
        try folder.write("<model><entity name=\"Note\">\(contents)</entity></model>", to: "Notes.xcdatamodeld/\(version).xcdatamodel/contents")
    }

    private func attribute(_ name: String, _ more: String = "") -> String {
        "<attribute name=\"\(name)\" attributeType=\"String\" optional=\"YES\" \(more)/>"
    }

    /// Three versions. Only through all of them does the text of the first reach the current one, the third; the fourth is a future version.
    private func makeBundle() throws -> String {
        try write(attribute("text"), version: "Notes")
        try write(attribute("body", "elementID=\"text\""), version: "Notes 2")
        try write(attribute("content", "elementID=\"body\""), version: "Notes 3")
        try write(attribute("content") + attribute("draft"), version: "Notes 10")
        try folder.write(
            "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>Notes 3.xcdatamodel</string></dict></plist>",
            to: "Notes.xcdatamodeld/.xccurrentversion")
        return folder.path("Notes.xcdatamodeld")
    }

    private func makeStore(_ model: String) throws -> String {
        let store = folder.path("Notes.hornbeam")
        let container = try PersistentContainer.open(at: URL(filePath: store), model: ManagedObjectModel(ModelFile(model).definition()))
        let context = container.newContext()
        try context.insert(entityNamed: "Note").setValue("kept", forKey: "text")
        try context.save()
        try container.close()
        return store
    }

    private func contents(_ store: String, _ key: String) throws -> [PropertyValue] {
        let container = try PersistentContainer.openReadOnly(at: URL(filePath: store))
        defer { try? container.close() }
        return try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { try $0.value(forKey: key) }
    }

    @MainActor @Test("MIG-13, MIG-14: a store is migrated over the versions of an Xcode bundle to the current one; a dry run changes nothing")
    func bundleIsAChain() async throws {
        let bundle = try makeBundle()
        let store = try makeStore("\(bundle)/Notes.xcdatamodel")
        #expect(await Tool.run(["migrate", store, "--model", bundle, "--dry-run"]) == 0)
        #expect(try contents(store, "text") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 0)
        #expect(try contents(store, "content") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", "\(bundle)/Notes 10.xcdatamodel"]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", bundle]) == 1)
        #expect(try contents(store, "draft") == [.null])
    }

    @MainActor @Test("MIG-13, MIG-14: a store is migrated over the JSON models of a folder to the last one")
    func folderIsAChain() async throws {
        let bundle = try makeBundle()
        let store = try makeStore("\(bundle)/Notes.xcdatamodel")
        for version in ["Notes", "Notes 2", "Notes 3"] {
            let json = try ModelFile("\(bundle)/\(version).xcdatamodel").definition().json()
            try folder.write(String(decoding: json, as: UTF8.self), to: "Models/\(version).json")
        }
        #expect(await Tool.run(["migrate", store, "--model", folder.path("Models")]) == 0)
        #expect(try contents(store, "content") == ["kept"])
    }

    @Test("MDL-12, MIG-13: an Xcode bundle is read whole: all versions in order, the marked one current, neighbours with the same rows as one")
    func bundleIsReadWhole() throws {
        let bundle = URL(filePath: try makeBundle())
        try write(attribute("content", "elementID=\"body\" maxValueString=\"9\""), version: "Notes 4")
        let versions = try VersionedModel(xcodeModelsAt: bundle)
        #expect(versions.names == ["Notes", "Notes 2", "Notes 3", "Notes 10"])
        #expect(versions.currentName == "Notes 3")
        #expect(versions.current.entities[0].attributes.map(\.name) == ["content"])
        let some = try VersionedModel(xcodeModelsAt: bundle, order: ["Notes 2", "Notes", "Notes 3"])
        #expect(some.names == ["Notes 2", "Notes", "Notes 3"])
        func message(_ order: [String]?) -> String? {
            #expect(throws: HornbeamError.self) { try VersionedModel(xcodeModelsAt: bundle, order: order) }?.message
        }
        #expect(
            message(["Notes", "Nots 3"])
                == "“Notes.xcdatamodeld” holds no version “Nots 3”: it holds “Notes”, “Notes 2”, “Notes 3”, “Notes 4”, “Notes 10”.")
        #expect(
            message(["Notes", "Notes 2"])
                == "The current version “Notes 3” does not exist: there are “Notes”, “Notes 2”.")
        try write("<attribute name=\"x\" attributeType=\"String\" derived=\"YES\" derivationExpression=\"uppercase:(y)\"/>", version: "Notes 2")
        #expect(message(nil)?.hasPrefix("Version “Notes 2” of “Notes.xcdatamodeld”: ") == true)
    }

    @MainActor @Test("MIG-3, MIG-4: the difference of two models ends with 1 and all obstacles where a store is not migrated without code")
    func differenceNamesObstacles() async throws {
        let old = try folder.write("<model><entity name=\"Note\">\(attribute("a"))\(attribute("b"))</entity></model>", to: "Old.xcdatamodel/contents")
        let new = try folder.write(
            """
            <model><entity name="Note"><attribute name="a" attributeType="Integer 16" optional="YES"/>\
            <attribute name="b" attributeType="String"/></entity></model>
            """, to: "New.xcdatamodel/contents")
        #expect(await Tool.run(["model", "diff", old, old]) == 0)
        #expect(await Tool.run(["model", "diff", old, new]) == 1)
        let error = #expect(throws: HornbeamError.self) {
            try MappingModel.inferred(from: ManagedObjectModel(ModelFile(old).definition()), to: ManagedObjectModel(ModelFile(new).definition()))
        }
        #expect(
            error.map(FailureText.describe) == """
                The migration cannot be inferred: there are 2 obstacles, which are among the details. Change the new model, migrate in two steps, or write \
                a migration plan.
                  - Note.a: Its type was string and is integer16 now. Values are not converted automatically: give the new attribute \
                another name, and convert in code.
                  - Note.b: Existing objects may have no value for it: it was optional and is required now. Give it a default value, or make it \
                optional.
                """)
    }

    private func model(_ contents: String, _ name: String) throws -> String {
        try folder.write("<model>\(contents)</model>", to: "\(name).xcdatamodel/contents")
    }

    private func note(_ more: String = "", abstract: Bool = false) -> String {
        "<entity name=\"Note\" \(abstract ? "isAbstract=\"YES\"" : "")>\(attribute("text"))\(more)</entity>"
    }

    @MainActor @Test("MIG-4: a dry run ends with the error of the migration: an older model, another store's model, an entity that becomes abstract")
    func dryRunEndsWithTheErrorOfTheMigration() async throws {
        let first = try model(note(), "First")
        let store = try makeStore(first)
        let strange = try model("<entity name=\"Star\">\(attribute("name"))</entity>", "Strange")
        let abstract = try model(note(abstract: true) + "<entity name=\"Memo\" parentEntity=\"Note\"/>", "Abstract")
        for name in [strange, abstract] {
            #expect(await Tool.run(["migrate", store, "--model", name, "--dry-run"]) == 1)
            #expect(await Tool.run(["migrate", store, "--model", name]) == 1)
        }
        #expect(await Tool.run(["model", "diff", first, strange]) == 1)
        let second = try model(note(attribute("more")), "Second")
        #expect(await Tool.run(["migrate", store, "--model", second, "--dry-run"]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", second]) == 0)
        #expect(await Tool.run(["migrate", store, "--model", first, "--dry-run"]) == 1)
        #expect(await Tool.run(["migrate", store, "--model", first]) == 1)
        #expect(try contents(store, "text") == ["kept"])
    }

    @MainActor @Test("MOD-13: models whose properties exchange their names need a migration in one direction, and are refused in the other")
    func exchangedNamesAreADifference() async throws {
        let first = try model("<entity name=\"Note\">\(attribute("text"))\(attribute("body"))</entity>", "First")
        let second = try model(
            "<entity name=\"Note\">\(attribute("text", "elementID=\"body\""))\(attribute("body", "elementID=\"text\""))</entity>", "Second")
        #expect(await Tool.run(["model", "diff", first, second]) == 0)
        #expect(await Tool.run(["model", "diff", second, first]) == 1)
        let store = try makeStore(first)
        #expect(await Tool.run(["migrate", store, "--model", second]) == 0)
        #expect(try contents(store, "body") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", second]) == 0)
        #expect(try contents(store, "body") == ["kept"])
        #expect(await Tool.run(["migrate", store, "--model", first, "--dry-run"]) == 1)
    }

    @MainActor @Test("HIS-8: the tool deletes no history, whatever its age, and creates none where the app has disabled it", arguments: [true, false])
    func historyIsKept(isRecorded: Bool) async throws {
        let first = try model(note(), "First")
        let second = try model(note(attribute("more")), "Second")
        let path = folder.path("Notes.hornbeam")
        let start = Date(timeIntervalSinceNow: -30 * 86_400)
        func open(_ model: String, at time: Date) throws -> Store {
            var options = Store.Options()
            options.history = isRecorded ? HistoryRetention(recordCount: 1_000_000, unreadRecordCount: 1_000_000, ageSeconds: 365 * 86_400) : nil
            options.clock = { time }
            return try Store.open(.directory(path), model: ManagedObjectModel(ModelFile(model).definition()), options: options)
        }
        let container = try PersistentContainer.over(try open(first, at: start))
        let context = container.newContext()
        for number in 0 ..< 300 {
            try context.insert(entityNamed: "Note").setValue(.string("\(number)"), forKey: "text")
            try context.save()
        }
        try container.close()
        #expect(await Tool.run(["migrate", path, "--model", second]) == 0)
        var reading = Store.Options()
        reading.readOnly = true
        let store = try Store.open(.directory(path), model: nil, options: reading)
        defer { try? store.close() }
        #expect(store.keepsHistory == isRecorded)
        guard isRecorded else { return }
        guard case .records(let records, _) = try store.history(after: nil) else {
            Issue.record("history is not whole")
            return
        }
        #expect(records.count == 301)
    }
}
