internal import HornbeamEngine
internal import HornbeamModel

extension StoreCheck {
    /// Reads every record of history.
    mutating func checkHistory() throws {
        guard let tree = snapshot.engineSnapshot.tree(named: HistoryKey.treeName) else { return }
        let reading = HistoryReading(snapshot.engineSnapshot, tree: tree, coding: snapshot.reader.history)
        let floor = try HistoryState.floor(in: snapshot.engineSnapshot)
        var damage: HornbeamError?
        do {
            try reading.forEach(after: 0) { record in
                if record.number > floor, record.number <= snapshot.transaction { return true }
                throw HornbeamError(
                    .damaged, "Transaction \(record.number) has a record, but the history covers only \(floor + 1) to \(snapshot.transaction).")
            }
        } catch let error as HornbeamError where [.damaged, .inputOutput].contains(error.code) {
            damage = error
        }
        if let damage { problem("history: \(damage.message)") }
    }
}
