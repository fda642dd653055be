#if Postgres
internal import HornbeamModel

/// The history of an open store.
struct HistoryKeeping: Sendable {
    /// The limits that the container demands; nil if it keeps no history.
    var tracking: HistoryTracking?
    /// True if saves are recorded: the tables of history exist.
    var isRecording = false
    var savesSinceTrimming = 0
}

/// Creates or removes the tables of history when a store is opened.
///
/// Each process of a store records history, or none does. Therefore the first process decides: others that open the store without history record it too, and
/// others that open it with history are refused.
struct HistorySetup {
    private let layout: StoreLayout
    private let schemaName: String
    private let connection: Connection

    init(_ layout: StoreLayout, _ schemaName: String, _ connection: Connection) {
        self.layout = layout
        self.schemaName = schemaName
        self.connection = connection
    }

    /// Returns true if saves must be recorded.
    ///
    /// - Parameters:
    ///   - isWanted: True if the container keeps history.
    ///   - exists: True if the store has a history.
    /// - Throws: `storeInUse` if other processes that do not record history have the store open.
    func run(isWanted: Bool, exists: Bool) throws -> Bool {
        if exists == isWanted { return exists }
        if exists {
            // A connection that is about to end counts as another process. Then the next opening removes the history.
            guard try connection.execute(ModelLock.exclusive(schemaName)).value == "t" else { return true }
            try connection.execute(all: layout.history.removal.map { Statement($0) })
            return false
        }
        guard try ModelLock.takeExclusive(schemaName, connection) else {
            throw HornbeamError(
                .storeInUse,
                "The store in the schema “\(schemaName)” has no history, and other processes have it open. Close it in all of them to begin a history, or "
                    + "open it without history tracking.")
        }
        try connection.execute(all: layout.history.creation.map { Statement($0) })
        return true
    }
}
#endif
