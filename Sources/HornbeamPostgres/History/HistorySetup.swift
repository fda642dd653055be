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
    ///   - isNew: True if the transaction has created the tables of the store.
    /// - Throws: `storeInUse` if other processes that do not record history have the store open.
    func run(isWanted: Bool, isNew: Bool) throws -> Bool {
        let exists = try connection.execute(Statement("SELECT to_regclass($1) IS NOT NULL", [layout.history.entries])).value == "t"
        if exists == isWanted { return exists }
        let isAlone = try isNew || connection.execute(ModelLock.exclusive(schemaName)).value == "t"
        if exists {
            guard isAlone else { return true }
            for statement in layout.history.removal { try connection.execute(Statement(statement)) }
            return false
        }
        guard isAlone else {
            throw HornbeamError(
                .storeInUse,
                "The store in the schema “\(schemaName)” has no history, and other processes have it open. Close it in all of them to begin a history, or "
                    + "open it without history tracking.")
        }
        for statement in layout.history.creation { try connection.execute(Statement(statement)) }
        return true
    }
}
#endif
