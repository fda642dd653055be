import Foundation
import Hornbeam
import Testing

/// Documents whose files cannot be written, are incomplete, or were left by a crash.
@Suite @MainActor struct DocumentFaultTests {
    private static func create(at url: URL) throws -> PersistentDocument {
        let document = try PersistentDocument.create(at: url, for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        document.autosaveDelay = nil
        return document
    }

    /// A closed document with the saved book 1 and the autosaved book 2.
    private static func makeEdited(at url: URL) throws {
        let document = try create(at: url)
        Shelves.book(1, in: document.context)
        try document.save()
        Shelves.book(2, in: document.context)
        try document.close()
    }

    private static func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "documents-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "Plan.document"))
    }

    @Test("DOC-1: a part of a working store is never shown as a recovery", arguments: ["pages", "nothing"])
    func partOfAWorkingStore(remains: String) throws {
        try Self.withFolder { url in
            try Self.makeEdited(at: url)
            let working = url.appending(path: "working.hornbeam")
            for name in try FileManager.default.contentsOfDirectory(atPath: working.path) where remains == "nothing" || !name.hasPrefix("pages") {
                try FileManager.default.removeItem(at: working.appending(path: name))
            }
            #expect(try DocumentScript.state(of: url) == DocumentScript.State(saved: [1], working: [1]))
        }
    }

    @Test("DOC-1: a saved store that is missing or incomplete is an error, and no empty document is made", arguments: [true, false])
    func missingSavedStore(isEmptied: Bool) throws {
        try Self.withFolder { url in
            try Self.makeEdited(at: url)
            let saved = url.appending(path: "saved.hornbeam")
            for name in try FileManager.default.contentsOfDirectory(atPath: saved.path) where isEmptied || name == "meta" {
                try FileManager.default.removeItem(at: saved.appending(path: name))
            }
            let before = try FileManager.default.contentsOfDirectory(atPath: saved.path)
            #expect(hornbeamError { _ = try DocumentScript.open(url) }?.code == .notAStore)
            #expect(try FileManager.default.contentsOfDirectory(atPath: saved.path) == before)
            // The autosaved changes are still there.
            #expect(FileManager.default.fileExists(atPath: url.appending(path: "working.hornbeam/meta").path))
        }
    }

    @Test("DOC-1: damaged autosaves are an error that names the way out, and discarding them leaves the saved state")
    func damagedAutosaves() throws {
        try Self.withFolder { url in
            try Self.makeEdited(at: url)
            let meta = url.appending(path: "working.hornbeam/meta")
            try Data(repeating: 7, count: try Data(contentsOf: meta).count).write(to: meta)
            let error = hornbeamError { _ = try DocumentScript.open(url) }
            #expect(error.map { [.damaged, .notAStore].contains($0.code) } == true)
            #expect(error?.message.hasPrefix(
                "The autosaved changes of the document Plan.document cannot be read; the saved state is not affected. Salvage the store "
                    + "working.hornbeam in its folder, or discard the changes with discardAutosavedChanges(at:). The error: ") == true)
            try PersistentDocument.discardAutosavedChanges(at: url)
            #expect(try DocumentScript.state(of: url) == DocumentScript.State(saved: [1], working: [1]))
            let document = try DocumentScript.open(url)
            #expect(hornbeamError { try PersistentDocument.discardAutosavedChanges(at: url) }?.code == .storeInUse)
            try document.close()
        }
    }

    @Test("DOC-1: the next opening removes the files of a removal, a replacement and a copy that a crash interrupted")
    func leftovers() throws {
        try Self.withFolder { url in
            try Self.makeEdited(at: url)
            for name in ["discarded.hornbeam", "previous.hornbeam", "next.hornbeam", "next.hornbeam.new-1", "working.hornbeam.new-2"] {
                let folder = url.appending(path: name)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                try Data("a part".utf8).write(to: folder.appending(path: "pages-0000000000000001"))
            }
            #expect(try DocumentScript.state(of: url) == DocumentScript.State(saved: [1], working: [1, 2]))
        }
    }

    @Test("DOC-1: incomplete new documents that a crash left are removed, those that another process makes are not")
    func leftoverDrafts() throws {
        try Self.withFolder { url in
            let parent = url.deletingLastPathComponent()
            let names = [".Plan.document.new-\(UUID().uuidString)", ".Plan.document.new-\(UUID().uuidString)", ".Plan.document.new-notes"]
            for name in names {
                try FileManager.default.createDirectory(at: parent.appending(path: name + "/saved.hornbeam"), withIntermediateDirectories: true)
            }
            let lock = Foundation.open(parent.appending(path: names[1] + "/lock").path, O_RDWR | O_CREAT, 0o644)
            defer { close(lock) }
            #expect(flock(lock, LOCK_EX) == 0)
            try Self.create(at: url).close()
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: parent.path)) == ["Plan.document", names[1], names[2]])
        }
    }

    /// Calls the body with a script and a fault at every n-th step in turn, until the script has fewer steps.
    private static func atSteps(_ stride: Int = 1, isSticky: Bool, _ body: (DocumentScript, StepFault) throws -> Void) throws -> Set<String> {
        var failed: Set<String> = []
        for number in 0... {
            let step = 1 + number * stride
            let fault = StepFault(at: step, isSticky: isSticky)
            let script = try DocumentScript()
            defer { script.removeFiles() }
            try DocumentFiles.$observer.withValue(DocumentFiles.Observer { try fault.perform($0) }) { try body(script, fault) }
            guard !fault.failed.isEmpty else { break }
            failed.insert(fault.failed)
        }
        return failed
    }

    @Test("DOC-1: an operation that fails at any step can be repeated, and nothing is lost", arguments: [false, true])
    func failedOperationsAreRepeated(isSticky: Bool) throws {
        let failed = try Self.atSteps(isSticky ? 3 : 1, isSticky: isSticky) { script, fault in
            for operation in DocumentScript.Operation.allCases {
                script.prepare(operation)
                do { try script.perform(operation) } catch let error as HornbeamError {
                    #expect(error.code == .full, "\(operation): \(error)")
                    fault.end()
                    if operation == .create { try script.removeComplete(script.first, operation, isExpected: isSticky) }
                    if operation == .saveAs { try script.removeComplete(script.second, operation, isExpected: isSticky) }
                    try script.perform(operation)
                }
            }
            fault.end()
            #expect(try script.reopened() == script.state, "a fault at “\(fault.failed)”")
            #expect(try DocumentScript.state(of: script.first).saved == [1, 2, 3])
            let names = try FileManager.default.contentsOfDirectory(atPath: script.folder.path).filter { $0.hasSuffix(".document") }
            #expect(names.sorted() == ["First.document", "Second.document"])
        }
        guard !isSticky else { return }
        #expect(failed.isSuperset(of: [
            "move working.hornbeam to discarded.hornbeam", "move saved.hornbeam to previous.hornbeam", "move next.hornbeam to saved.hornbeam",
            "sync First.document", "copy to next.hornbeam", "copy to working.hornbeam", "move the store to the new document", "remove meta",
        ]), "\(failed.sorted())")
    }

    @Test("DOC-1: a document that is dropped after a fault at any step has the state before the operation or after it")
    func droppedAfterAFault() throws {
        _ = try Self.atSteps(2, isSticky: true) { script, fault in
            for operation in DocumentScript.Operation.allCases {
                script.prepare(operation)
                let (before, after) = (script.state, script.stateAfter(operation))
                do { try script.perform(operation) } catch {
                    fault.end()
                    script.drop()
                    let found = try script.reopened()
                    if operation == .create { return #expect(found == nil || found == after) }
                    let state = try #require(found)
                    let isPossible = [before.saved, after.saved].contains(state.saved) && [before.working, after.working].contains(state.working)
                    #expect(isPossible, "\(operation) at “\(fault.failed)”: \(state)")
                    return
                }
            }
        }
    }

    /// Saves on a disk that holds no file as large as the store. Exits with 7 if the save fails with `full` and succeeds later.
    private static func saveOnAFullDisk(_ path: String) throws {
        signal(SIGXFSZ, SIG_IGN)
        let document = try create(at: URL(filePath: path))
        for number in 1...400 { Shelves.book(number, in: document.context).title = UUID().uuidString + UUID().uuidString }
        try document.autosave()
        var limit = rlimit()
        getrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
        let unlimited = limit
        limit.rlim_cur = 20_000
        setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
        do { try document.save() } catch let error as HornbeamError where error.code == .full {
            limit = unlimited
            setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
            guard document.isEdited, try DocumentScript.books(document).count == 400 else { exit(1) }
            try document.save()
            try document.close()
            exit(7)
        }
        exit(2)
    }

    @Test("DOC-1: a save on a full disk throws full, keeps the changes, and can be repeated")
    func fullDisk() async throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "document-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        await #expect(processExitsWith: .exitCode(7)) { [path = url.path as String] in
            try await DocumentFaultTests.saveOnAFullDisk(path)
        }
        #expect(try DocumentScript.state(of: url).saved == Array(1...400))
    }

    @Test("DOC-1: a document in a folder without write permission throws readOnly, and stays as it is")
    func readOnlyFolder() async throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "document-\(UUID().uuidString)")
        try Self.makeEdited(at: url)
        defer { try? FileManager.default.removeItem(at: url) }
        // The superuser may write everywhere, so another user opens the document.
        try FileManager.default.removeItem(at: url.appending(path: "lock"))
        chmod(url.path, 0o555)
        await #expect(processExitsWith: .exitCode(7)) { [path = url.path as String] in
            if getuid() == 0 { setuid(65534) }
            do { _ = try await DocumentScript.open(URL(filePath: path)) } catch let error as HornbeamError {
                exit(error.code == .readOnly && error.message.contains("permissions") ? 7 : 1)
            }
        }
        chmod(url.path, 0o755)
        #expect(try DocumentScript.state(of: url) == DocumentScript.State(saved: [1], working: [1, 2]))
    }
}
