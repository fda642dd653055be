extension ManagedObjectContext {
    /// True to record call sites that read objects one at a time. For development: it is slow, and disables read-ahead.
    public var tracksRowByRowAccess: Bool {
        get { access.log != nil }
        set {
            guard newValue != tracksRowByRowAccess else { return }
            access.log = newValue ? AccessLog() : nil
        }
    }

    /// The call sites that have read at least ten objects one at a time since tracking began, the most frequent first.
    public var rowByRowAccesses: [RowByRowAccess] { access.log?.report(atLeast: 10) ?? [] }
}
