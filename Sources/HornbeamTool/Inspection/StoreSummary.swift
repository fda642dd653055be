import Foundation
import HornbeamModel
import HornbeamEngine
import HornbeamStore

/// The output of `hornbeam info` for a store.
struct StoreSummary {
    let path: String
    let store: Store

    /// The store's identity, its statistics, its entities with their indexes, its files, and the processes that have it open.
    func description() throws -> String {
        let files = StoreFiles(path: path)
        let statistics = try store.statistics()
        let engine = try store.engineStatistics()
        let space = try store.space()
        return """
            \(path): a Hornbeam store
              identifier   \(store.identifier.uuidString)
              transaction  \(Figures.count(store.latestTransaction))
              objects      \(Figures.count(statistics.objectCount))
              size         \(Figures.bytes(files.byteCount)): \(Figures.bytes(space.liveBytes)) live, \(Figures.bytes(space.deadBytes)) dead
              pages        up to \(Figures.bytes(engine.pageSize)) in \(Figures.count(engine.pageFiles, "file"))

            \(entities(statistics).description)

            \(indexes(statistics).description)

            \(fileTable(files).description)\(processes)
            """
    }

    /// The processes that have the store open; empty if there are none.
    private var processes: String {
        let list = StoreProcesses(path: path).list
        guard !list.isEmpty else { return "" }
        var table = TextTable([
            .number("process"), .text("name"), .text("open for"), .text("turn"), .number("unread log"), .number("oldest snapshot"),
        ])
        for entry in list {
            let unread = entry.hasTurn ? nil : entry.unreadBytes
            table.append([
                String(entry.identifier), entry.name, entry.access.rawValue, entry.turn, unread.map { Figures.bytes($0) } ?? "",
                entry.snapshotAge.map { "\($0) s" } ?? "",
            ])
        }
        return "\n\n" + table.description
    }

    private func entities(_ statistics: StoreStatistics) -> TextTable {
        var table = TextTable([.text("entity"), .number("objects"), .text("attributes", widthMax: 90)])
        for (name, count) in statistics.objects {
            let attributes = store.model.entitiesByName[name]?.attributes.map(\.name) ?? []
            table.append([name, Figures.count(count), attributes.joined(separator: ", ")])
        }
        return table
    }

    private func indexes(_ statistics: StoreStatistics) -> TextTable {
        var table = TextTable([.text("index or relationship"), .number("entries")])
        for (name, count) in statistics.indexes { table.append([name, Figures.count(count)]) }
        for (name, count) in statistics.relationships { table.append([name, Figures.count(count)]) }
        return table
    }

    private func fileTable(_ files: StoreFiles) -> TextTable {
        var table = TextTable([.text("file"), .number("size")])
        for file in files.list { table.append([file.name, Figures.bytes(file.byteCount)]) }
        return table
    }
}
