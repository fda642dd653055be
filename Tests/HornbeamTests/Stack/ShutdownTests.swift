import Foundation
import Hornbeam
import Testing

/// Saves at the end of a process. Each case is a process of its own, which leaves its store in a folder that the test reads.
@Suite struct ShutdownTests {
    private static func url() -> URL { FileManager.default.temporaryDirectory.appending(path: "shutdown-\(UUID().uuidString).hornbeam") }

    private static func stack(at path: String) throws -> DataStack {
        let stack = DataStack(for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        try stack.configure { $0.persistentStoreDescriptions = [PersistentStoreDescription(url: URL(filePath: path))] }
        return stack
    }

    /// Changes both contexts and saves nothing.
    @MainActor private static func change(_ stack: DataStack) async throws {
        Shelves.book(1, in: try stack.mainContext)
        try await stack.backgroundContext.perform { context in _ = Shelves.book(2, in: context) }
    }

    /// A function that returns, for the compiler.
    private static func leave() { exit(EXIT_SUCCESS) }

    private func books(at url: URL) throws -> [Int] {
        defer { try? FileManager.default.removeItem(at: url) }
        let container = try PersistentContainer.open(at: url, model: ManagedObjectModel(for: Shelves.classes), classes: Shelves.classes)
        defer { try? container.close() }
        return try container.read { try $0.fetch(ShelfBook.self).map(\.isbn).sorted() }
    }

    @Test("STK-7: a process that exits normally saves both contexts")
    func exitSaves() async throws {
        let url = Self.url()
        await #expect(processExitsWith: .success) { [path = url.path as String] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            try await ShutdownTests.change(stack)
            await MainActor.run { ShutdownTests.leave() }
        }
        #expect(try books(at: url) == [1, 2])
    }

    @Test("STK-7: an exit on another thread saves both contexts")
    func exitElsewhere() async throws {
        let url = Self.url()
        await #expect(processExitsWith: .success) { [path = url.path as String] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            try await ShutdownTests.change(stack)
            Thread { ShutdownTests.leave() }.start()
            try await Task.sleep(for: .seconds(20))
        }
        #expect(try books(at: url) == [1, 2])
    }

    @Test("STK-7: a process that receives a signal to end saves both contexts, and ends by the signal", arguments: [SIGTERM, SIGINT])
    func signalSaves(number: Int32) async throws {
        let url = Self.url()
        await #expect(processExitsWith: .signal(number)) { [path = url.path as String, number = number as Int32] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            try await ShutdownTests.change(stack)
            kill(getpid(), number)
            try await Task.sleep(for: .seconds(20))
        }
        #expect(try books(at: url) == [1, 2])
    }

    @Test("STK-7: a stack that no longer saves at shutdown loses its changes")
    func noLonger() async throws {
        let url = Self.url()
        await #expect(processExitsWith: .success) { [path = url.path as String] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            stack.stopSavingAtShutdown()
            try await ShutdownTests.change(stack)
            ShutdownTests.leave()
        }
        #expect(try books(at: url) == [])
    }

    @Test("STK-7: a busy background context delays the end by the patience at most, and the main context is saved")
    func busyBackgroundContext() async throws {
        let url = Self.url()
        let result = await #expect(processExitsWith: .signal(SIGTERM), observing: [\.standardErrorContent]) { [path = url.path as String] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown(patience: .milliseconds(500))
            try await ShutdownTests.change(stack)
            let background = try stack.backgroundContext
            Task.detached { try await background.perform { _ in Thread.sleep(forTimeInterval: 60) } }
            try await Task.sleep(for: .milliseconds(100))
            kill(getpid(), SIGTERM)
            try await Task.sleep(for: .seconds(20))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("The background context was busy"), "\(text)")
        #expect(try books(at: url) == [1])
    }

    @Test("STK-7: after the save, the handler that the app had before gets the signal")
    func earlierHandler() async throws {
        let url = Self.url()
        await #expect(processExitsWith: .exitCode(7)) { [path = url.path as String] in
            signal(SIGTERM) { _ in _exit(7) }
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            try await ShutdownTests.change(stack)
            kill(getpid(), SIGTERM)
            try await Task.sleep(for: .seconds(20))
        }
        #expect(try books(at: url) == [1, 2])
    }

    @Test("STK-7: a save that fails at shutdown is reported, and the process ends")
    func failure() async throws {
        let url = Self.url()
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [path = url.path as String] in
            let stack = try ShutdownTests.stack(at: path)
            stack.saveAtShutdown()
            try await stack.backgroundContext.perform { context in _ = Shelves.book(1, in: context, "") }
            ShutdownTests.leave()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Saving at shutdown failed"))
        #expect(try books(at: url) == [])
    }
}
