internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension TableView {
    /// Ranges of keys with about the same number of rows each.
    func windows(_ count: Int) throws(EngineError) -> [KeyWindow] {
        var windows: [KeyWindow] = []
        for part in 0 ..< count {
            var window = KeyWindow()
            if part > 0 { window.first = try key(at: self.count * part / count) }
            if part + 1 < count, let next = try key(at: self.count * (part + 1) / count) { window.last = next - 1 }
            windows.append(window)
        }
        return windows
    }
}

/// Scans on several threads: each thread scans a range of keys with a sink and a context of its own.
extension FetchExecution {
    /// Ranges of keys with about the same number of rows; a single range when several threads cannot be used or save no time.
    func parts(of table: EntityTable) throws(EngineError) -> [KeyWindow] {
        let view = snapshot.view(table)
        let filter = filter(table.index)
        guard filter.kind <= .texts, sink.readsAll, sink.canScanInParts(table) else { return [KeyWindow()] }
        let cells = view.count * max(filter.cost, sink.rowCost)
        // If a scan uses all processors, a commit waits milliseconds for one.
        let hasRunningWriter = !context.threads.belongToWriter && snapshot.engineSnapshot.hasRunningWriter
        let most = context.threads.most - (hasRunningWriter ? 1 : 0)
        let count = min(most, cells / max(context.threads.cellsPerThreadMin, 1), view.count)
        return count > 1 ? try view.windows(count) : [KeyWindow()]
    }

    /// Scans the parts in parallel. The first part uses this execution's sink; the results of the others are added to it in order.
    func scan(_ table: EntityTable, parts windows: [KeyWindow]) throws(EngineError) {
        let parts = windows.indices.map { number in
            if number == 0 { return ScanPart(self, windows[0], table) }
            let context = FilterContext(snapshot)
            context.control = self.context.control
            return ScanPart(FetchExecution(plan, snapshot, context, sink.emptyCopy(context)), windows[number], table)
        }
        Cores.share(parts.count) { parts[$0].run() }
        for (number, part) in parts.enumerated() {
            if let error = part.error { throw part.execution.context.failure.map(context.fail) ?? error }
            guard number > 0 else { continue }
            sink.add(part.execution.sink)
            count(rows: part.execution.rowsRead, leaves: part.execution.leavesRead)
        }
    }
}

/// One range of a scan. A worker thread uses it first, and then the thread that waited for the worker.
private final class ScanPart {
    let execution: FetchExecution
    private(set) var error: EngineError?
    private let window: KeyWindow
    private let table: EntityTable

    init(_ execution: FetchExecution, _ window: KeyWindow, _ table: EntityTable) {
        self.execution = execution
        self.window = window
        self.table = table
    }

    func run() {
        do throws(EngineError) {
            _ = try execution.scan(table, window, isPart: true)
        } catch {
            self.error = error
        }
    }
}
