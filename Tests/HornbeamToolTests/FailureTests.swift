import Foundation
import Hornbeam
import HornbeamStore
import Testing

@testable import HornbeamTool

/// The tool's messages for errors of a store or a query.
@Suite struct FailureTests {
    private let folder = TemporaryFolder()

    /// The tool's message for the error that the body throws.
    private func complaint(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing was thrown"
        } catch {
            return FailureText.describe(error).replacing(folder.url.path, with: "FOLDER")
        }
    }

    private func store() throws -> String {
        let path = folder.path("Packages.hornbeam")
        try CatalogueModel.open(at: path).close()
        return path
    }

    @MainActor private func ask(_ query: Query, of path: String) -> String {
        complaint { try StoreInspection.withContainer(path) { _ = try query.run(in: $0.viewContext) } }
    }

    @Test func aPathThatIsNoStoreIsNamed() throws {
        let file = try folder.write("text", to: "notes.txt")
        try folder.write("text", to: "Folder/notes.txt")
        let paths = [folder.path("Nothing.hornbeam"), file, folder.path("Folder")]
        let complaints = paths.map { path in complaint { try StoreInspection.withStore(path) { _ in } } }
        #expect(
            complaints == [
                "There is no store at this path. [FOLDER/Nothing.hornbeam]",
                "There is a file at this path, and a store is a folder. Choose another path. [FOLDER/notes.txt]\n  cause: system error 20",
                "There is no store at this path. [FOLDER/Folder]",
            ])
    }

    @Test func aFolderOfOtherFilesIsNotTurnedIntoAStore() throws {
        try folder.write("text", to: "Folder/notes.txt")
        let text = complaint { _ = try CatalogueModel.open(at: folder.path("Folder")) }
        #expect(text == "The folder contains files but no store. Choose another path for a new store. [FOLDER/Folder]")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("Folder")) == ["notes.txt"])
    }

    @Test func aStoreInUseIsNamed() throws {
        let path = try store()
        // Opens the store like another process, without sharing it with the containers of this one.
        let open = try Store.open(.directory(path), model: nil)
        let text = complaint { try CatalogueModel.open(at: path).close() }
        #expect(text.contains("open for writing in this process already") && text.contains("FOLDER/Packages.hornbeam"))
        try open.close()
        try CatalogueModel.open(at: path).close()
    }

    @Test func aStoreOfAnotherModelSaysWhatDiffers() throws {
        let path = folder.path("Other.hornbeam")
        let model = try ManagedObjectModel { Entity("Package") { Attribute<Int>("name") } }
        try PersistentContainer.open(at: URL(filePath: path), model: model).close()
        let text = complaint { try CatalogueModel.open(at: path).close() }
        #expect(text.hasPrefix("“FOLDER/Other.hornbeam” was made with the version "))
        #expect(text.contains("Package.name: Its type was integer64 and is string now"))
        // Nothing was changed: the store opens with its own model.
        try PersistentContainer.open(at: URL(filePath: path), model: model).close()
    }

    @Test func aDamagedMetaFileIsNamed() throws {
        let path = try store()
        let meta = try Data(contentsOf: URL(filePath: path + "/meta"))
        try Data(repeating: 0x55, count: meta.count).write(to: URL(filePath: path + "/meta"))
        let text = complaint { try StoreInspection.withStore(path) { _ in } }
        #expect(text == "The file is not the meta file of a store. Check the path. [FOLDER/Packages.hornbeam/meta]")
    }

    @MainActor @Test func questionsThatCannotBeAnsweredSayWhy() throws {
        let path = try store()
        #expect(ask(Query(entityName: "Pakage"), of: path) == "The model has no entity “Pakage” (did you mean “Package”?).")
        var query = Query(entityName: "Package")
        query.format = "nme == 'x'"
        #expect(ask(query, of: path).contains("“Package” has no property “nme” (did you mean “name”?)"))
        query.format = "name == "
        #expect(ask(query, of: path).hasSuffix("\nname == \n        ^"))
        query.format = "installedSize == 'large'"
        #expect(ask(query, of: path).contains("cannot compare “installedSize”, which is a number, with a string"))
        query.format = nil
        query.sorts = [.ascending("sise")]
        #expect(ask(query, of: path).contains("“Package” has no property “sise”"))
        query.sorts = []
        query.columns = ["section.nme"]
        #expect(ask(query, of: path).contains("“Section” has no property “nme”"))
        query.columns = ["dependencies.kind"]
        #expect(ask(query, of: path) == "The column 'dependencies.kind' passes 'dependencies', which is not a to-one relationship.")
    }

    @Test func valuesThatCannotBeSavedSayWhy() throws {
        let container = try PersistentContainer.inMemory(model: CatalogueModel.make(), classes: CatalogueModel.classes)
        container.performAndWait { context in
            let missing = complaint {
                _ = Section(context: context)
                try context.save()
            }
            #expect(missing == "“Section.name” is required and has no value: set it before saving.")
            context.rollback()
            let double = complaint {
                for _ in 0..<2 { Section(context: context).name = "games" }
                try context.save()
            }
            #expect(double.hasPrefix("“name” of Section must be unique, and Section/t"))
            #expect(
                double.hasSuffix(
                    " have the same value. Give it another value. A mergePolicy can merge a new object into the object with the value."))
            context.rollback()
            let wrong = complaint { try Section(context: context).setValue(.int(3), forKey: "name") }
            #expect(wrong == "The value of “Section.name” must be a string, and a number was given.")
        }
    }
}
