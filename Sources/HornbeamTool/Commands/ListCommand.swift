import Foundation
import Hornbeam
import HornbeamLists
import HornbeamStore

extension Command {
    static let list = Command(
        name: "list",
        summary: "show objects of any store as a list in sections, and follow the saves of other processes",
        help: """
            Usage: hornbeam list STORE ENTITY --sort KEYS [--where FORMAT] [--section KEY] [--columns KEY,…] [--limit N]
                                 [--follow] [--interval MILLISECONDS]

              --sort KEYS      key paths to sort by, separated by commas; -KEY sorts from large to small
              --where FORMAT   a predicate, such as "section.name == 'games'"
              --section KEY    a key path whose values are the titles of sections; sort by it first
              --columns KEYS   the columns, separated by commas (the sort keys)
              --limit N        at most N objects (all)
              --follow         keep the list on the terminal up to date until the process is interrupted; the store may be
                               open in another process, and only lines that change are written
              --interval N     how often the store is checked for new saves, in milliseconds (200)

            Example: hornbeam list Packages.hornbeam Package --sort section.name,name --section section.name --follow
            """,
        run: { arguments in
            let section = try arguments.option("--section")
            let columns = try arguments.option("--columns")?.split(separator: ",").map(String.init)
            let isFollowing = arguments.flag("--follow")
            let interval = try arguments.integer("--interval", in: 10...60_000) ?? 200
            let (path, query) = try Query.parse(&arguments, limit: 0)
            guard !query.sorts.isEmpty else { throw UsageError("--sort is missing: a list needs an order") }
            if isFollowing, !Console.isOutputTerminal {
                throw CommandFailure("The list can follow a store only on a terminal. Leave out --follow, or run it in a terminal.")
            }
            let list = StoreList(query, section: section, columns: columns ?? query.sorts.map(\.keyPath))
            try await StoreInspection.withContainer(path) { container in
                if isFollowing {
                    try await list.follow(container, every: .milliseconds(interval))
                } else {
                    try list.show(container)
                }
            }
        })
}

/// The list of a query on a terminal.
@MainActor struct StoreList {
    private let query: Query
    private let section: String?
    private let columns: [String]

    init(_ query: Query, section: String?, columns: [String]) {
        self.query = query
        self.section = section
        self.columns = columns
    }

    /// Prints all rows once.
    func show(_ container: PersistentContainer) throws {
        let list = RecordingList()
        let source = try source(container, list) { $0.text = $1 }
        try source.startVending()
        for section in list.rows.sections {
            if !section.title.isEmpty { Console.printLine(section.title.singleLine) }
            for row in section.rows { Console.printLine((section.title.isEmpty ? "" : "  ") + row.text.singleLine) }
        }
    }

    /// Keeps the list on the terminal up to date until the process receives `SIGINT` or `SIGTERM`.
    func follow(_ container: PersistentContainer, every interval: Duration) async throws {
        let list = TerminalList(width: Console.width, height: Console.height - 1) { Console.write($0, to: STDOUT_FILENO) }
        // The objects of the rows on the terminal are enough.
        let source = try source(container, list, batchSize: 50) { $0.text = (section == nil ? "" : "  ") + $1 }
        func showCount() { list.header = "\(query.entityName): \(Figures.count(list.contents?.rowCount ?? 0, "object"))" }
        let interruption = Interruption()
        list.redraw()
        try source.startVending()
        showCount()
        while !interruption.hasOccurred {
            try await Task.sleep(for: interval)
            (list.width, list.height) = (Console.width, Console.height - 1)
            guard try container.persistentStoreCoordinator.refreshReadOnlyStores() else { continue }
            try container.viewContext.mergeChanges()
            showCount()
        }
        Console.printLine()
    }

    private func source<View: ListView>(
        _ container: PersistentContainer, _ view: View, batchSize: Int = 0, set: @escaping (inout View.Cell, String) -> Void
    ) throws -> ListDataSource<ManagedObject, View> {
        let request = try query.request().batches(of: batchSize)
        let source = try ListDataSource(request, in: container.viewContext, sectionedBy: section, view: view) { [columns] cell, object in
            let cells = columns.map { (try? object.text(forKeyPath: $0)) ?? "" }
            set(&cell, cells.joined(separator: "  "))
        }
        // A wrong key is an error of the command line, and not an empty cell.
        let entity = try container.persistentStoreCoordinator.managedObjectModel.entity(named: query.entityName)
        for column in columns { try Query.validateColumn(column, of: entity) }
        return source
    }
}

/// Notices `SIGINT` and `SIGTERM`, so that a command can end at a good place.
@MainActor private final class Interruption {
    private(set) var hasOccurred = false
    private var sources: [any DispatchSourceSignal] = []

    init() {
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
            source.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.hasOccurred = true } }
            source.resume()
            sources.append(source)
        }
    }
}
