internal import HornbeamEngine
internal import HornbeamModel

extension FetchExecution {
    /// The keys between offset and limit, found by rank. The window is open unless every row is a result, in the order of keys.
    func keyWindow() throws(EngineError) -> KeyWindow {
        guard plan.isExact, plan.sorts.isEmpty, !plan.window.isWhole, sink.isComplete, !sink.isCounting
        else { return KeyWindow() }
        let total = plan.choice.entries
        let offset = min(plan.window.offset, total)
        var window = KeyWindow()
        if offset > 0 {
            window.first = try key(atRank: offset)
            sink.recordSkipped(offset)
        }
        if let limit = plan.window.limit, total - offset > limit { window.last = try key(atRank: offset + limit - 1) }
        return window
    }

    /// The n-th key of all tables; the greatest key if there are fewer.
    private func key(atRank n: Int) throws(EngineError) -> UInt64 {
        if plan.tables.count == 1 { return try snapshot.view(plan.tables[0]).key(at: n) ?? .max }
        var low: UInt64 = 0
        var high = UInt64.max
        // The largest key with at most n keys before it.
        while low < high {
            let middle = low + (high - low) / 2 + 1
            if try rank(of: middle) <= n { low = middle } else { high = middle - 1 }
        }
        return low
    }

    private func rank(of key: UInt64) throws(EngineError) -> Int {
        var rank = 0
        for table in plan.tables { rank += try snapshot.view(table).rank(of: key) }
        return rank
    }
}
