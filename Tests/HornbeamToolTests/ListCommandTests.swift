import Foundation
import Hornbeam
import Testing

@testable import HornbeamTool

@Suite struct ListCommandTests {
    private func container(_ path: String) throws -> PersistentContainer {
        let model = try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                Attribute<String>("shelf")
            }
        }
        let container = try PersistentContainer(name: "Books", model: model)
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: URL(filePath: path))]
        try container.loadPersistentStores()
        return container
    }

    private func add(_ context: ManagedObjectContext, _ title: String, _ shelf: String) throws {
        let book = try context.insert(entityNamed: "Book")
        (book["title"], book["shelf"]) = (.string(title), .string(shelf))
    }

    @Test func aListWithoutAnOrderAndOnNoTerminalIsRefused() async throws {
        let folder = TemporaryFolder()
        let path = folder.path("Books.hornbeam")
        try container(path).close()
        var arguments = Arguments([path, "Book"])
        await #expect(throws: UsageError("--sort is missing: a list needs an order")) { try await Command.list.run(&arguments) }
    }

    /// Runs the tool in a terminal of tmux, and another process, this one, saves.
    @Test("SEED-10, FRC-8: a list in a terminal follows the saves of another process", .enabled(if: Terminal.isAvailable, "tmux is not installed"))
    func listFollowsAnotherProcess() async throws {
        let folder = TemporaryFolder()
        let path = folder.path("Books.hornbeam")
        let container = try container(path)
        let context = container.newContext()
        for (title, shelf) in [("Emma", "novels"), ("Iliad", "poems")] { try add(context, title, shelf) }
        try context.save()
        let terminal = try Terminal(
            folder, "\(try #require(Terminal.tool)) list \(path) Book --sort shelf,title --section shelf --columns title --follow --interval 20",
            width: 50, height: 12)
        defer { terminal.close() }
        #expect(try await terminal.shows(["Book: 2 objects", "novels", "  Emma", "poems", "  Iliad"]))
        try add(context, "Dubliners", "novels")
        try context.save()
        #expect(try await terminal.shows(["Book: 3 objects", "novels", "  Dubliners", "  Emma", "poems", "  Iliad"]))
        for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book").where("title == 'Iliad'")) { context.delete(book) }
        for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book").where("title == 'Emma'")) { book["title"] = "Persuasion" }
        try context.save()
        #expect(try await terminal.shows(["Book: 2 objects", "novels", "  Dubliners", "  Persuasion"]))
        try terminal.run("send-keys", "-t", "list", "C-c")
        #expect(try await terminal.ends())
        try container.close()
    }
}

/// A program in a terminal of tmux, with a server of its own, which ends with `close`, or with the process of the tests.
private struct Terminal {
    /// The tool, beside the tests.
    static let tool: String? = {
        let path = Bundle.main.bundleURL.deletingLastPathComponent().appending(path: "hornbeam").path
        let beside = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "hornbeam").path
        return [beside, path].first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static let tmux = ["/usr/bin/tmux", "/usr/local/bin/tmux", "/opt/homebrew/bin/tmux"].first { FileManager.default.isExecutableFile(atPath: $0) }
    static var isAvailable: Bool { tmux != nil }

    /// The folder of the server's socket.
    private let folder: TemporaryFolder
    private var socket: String { folder.path("tmux") }

    init(_ folder: TemporaryFolder, _ command: String, width: Int, height: Int) throws {
        self.folder = folder
        // Tests that end without `close`, by a trap for example, leave no server.
        let watch = "while kill -0 \(ProcessInfo.processInfo.processIdentifier); do sleep 1; done; '\(Terminal.tmux ?? "")' -S '\(socket)' kill-server"
        let command = "(\(watch)) </dev/null >/dev/null 2>&1 & exec \(command)"
        // The server inherits the files by which Foundation notices the end of a process, so a wait of `Process` would not return.
        let process = process("new-session", "-d", "-s", "list", "-x", "\(width)", "-y", "\(height)", command)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Swift Testing's thread for exit tests does not sleep as long as there is a zombie.
        waitpid(process.processIdentifier, nil, 0)
    }

    private func process(_ arguments: String...) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: Terminal.tmux ?? "")
        process.arguments = ["-S", socket, "-f", "/dev/null"] + arguments
        return process
    }

    @discardableResult
    func run(_ arguments: String...) throws -> (output: String, status: Int32) {
        let process = process()
        process.arguments? += arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus)
    }

    /// Waits until the terminal shows these lines and no others.
    func shows(_ lines: [String]) async throws -> Bool {
        var shown: [String] = []
        for _ in 0 ..< 600 {
            shown = try run("capture-pane", "-p", "-t", "list").output.split(separator: "\n", omittingEmptySubsequences: false).map {
                String($0.reversed().drop { $0 == " " }.reversed())
            }
            while shown.last?.isEmpty == true { shown.removeLast() }
            if shown == lines { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("the terminal shows \(shown)")
        return false
    }

    /// Waits until the program has ended: the server ends with its last session.
    func ends() async throws -> Bool {
        for _ in 0 ..< 600 {
            if try run("has-session", "-t", "list").status != 0 { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    func close() { _ = try? run("kill-server") }
}
