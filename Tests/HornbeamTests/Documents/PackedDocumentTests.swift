import Foundation
import Hornbeam
import Testing

/// Stores and documents in one file.
@Suite @MainActor struct PackedDocumentTests {
    private static func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "packed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    private static func names(_ folder: URL) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    @Test("DOC-1: a packed document has the state of the context, which is the saved state of the unpacked document")
    func packedDocument() throws {
        try Self.withFolder { folder in
            let (url, file, copy) = (folder.appending(path: "A.document"), folder.appending(path: "A.hornbeamz"), folder.appending(path: "B.document"))
            let document = try PersistentDocument.create(at: url, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
            document.autosaveDelay = nil
            Shelves.book(1, in: document.context)
            try document.save()
            Shelves.book(2, in: document.context)
            var parts: Set<String> = []
            let report = try document.pack(to: file) { parts.insert($0.part) }
            #expect(try report.bytes == file.resourceValues(forKeys: [.fileSizeKey]).fileSize && parts.contains("packing"))
            #expect(document.isEdited)
            #expect(hornbeamError { try document.pack(to: file) }?.code == .notAStore)
            try PersistentDocument.unpack(file, to: copy)
            #expect(try DocumentScript.state(of: copy) == DocumentScript.State(saved: [1, 2], working: [1, 2]))
            #expect(hornbeamError { try PersistentDocument.unpack(file, to: copy) }?.code == .notAStore)
            try document.close()
            #expect(hornbeamError { try document.pack(to: folder.appending(path: "C.hornbeamz")) }?.code == .closed)
            #expect(try Self.names(folder) == ["A.document", "A.hornbeamz", "B.document"])
        }
    }

    @Test("DOC-1: a damaged packed document makes no document, and leaves no file", arguments: [0.0, 0.3, 0.9])
    func damagedFile(place: Double) throws {
        try Self.withFolder { folder in
            let (file, copy) = (folder.appending(path: "A.hornbeamz"), folder.appending(path: "B.document"))
            let document = try PersistentDocument.create(at: folder.appending(path: "A.document"), for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
            try document.pack(to: file)
            try document.close()
            var bytes = try Data(contentsOf: file)
            bytes[Int(Double(bytes.count) * place)] ^= 4
            try bytes.write(to: file)
            let code = hornbeamError { try PersistentDocument.unpack(file, to: copy) }?.code
            #expect(code == (place == 0 ? .notAStore : .damaged))
            #expect(try Self.names(folder) == ["A.document", "A.hornbeamz"])
        }
    }

    @Test("PSC-15: a store on disk and a store in memory are packed while they are open, and by their URL; IDs stay valid", arguments: StoreKind.allCases)
    func packedStore(kind: StoreKind) throws {
        try Self.withFolder { folder in
            let container = try PersistentContainer(name: "A", model: ManagedObjectModel(for: Shelves.classes), classes: Shelves.classes)
            let url = folder.appending(path: "A.hornbeam")
            container.persistentStoreDescriptions = [kind == .inMemory ? .inMemory() : PersistentStoreDescription(url: url)]
            try container.loadPersistentStores()
            let book = Shelves.book(1, in: container.viewContext)
            try container.viewContext.save()
            let id = book.objectID
            let coordinator = container.persistentStoreCoordinator
            var files = [folder.appending(path: "A.hornbeamz")]
            try coordinator.pack(coordinator.persistentStores[0], to: files[0])
            if kind != .inMemory {
                files.append(folder.appending(path: "B.hornbeamz"))
                try PersistentStoreCoordinator.packStore(at: url, to: files[1])
            }
            try container.close()
            for (number, file) in files.enumerated() {
                let copy = folder.appending(path: "\(number).hornbeam")
                try PersistentStoreCoordinator.unpackStore(file, to: copy)
                let opened = try PersistentContainer.open(at: copy, model: ManagedObjectModel(for: Shelves.classes), classes: Shelves.classes)
                let uri = try #require(opened.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
                #expect(try opened.viewContext.existingObject(ShelfBook.self, with: uri).isbn == 1)
                try opened.close()
            }
            #expect(hornbeamError { try PersistentStoreCoordinator.packStore(at: folder.appending(path: "C.hornbeam"), to: folder.appending(path: "C")) }?
                .code == .notAStore)
        }
    }
}
