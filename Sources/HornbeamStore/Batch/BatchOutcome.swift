/// What a batch update or delete did.
package struct BatchOutcome: Sendable {
    /// Objects that the request met; of a delete, those that followed by its rules too.
    package var count = 0
    /// The objects counted, by key; empty unless they were asked for.
    package var objects: [ObjectReference] = []
    /// The commit's number; the newest one's when nothing was changed.
    package var transaction: UInt64 = 0
}

/// Who asks for a batch, as it is recorded with the commit.
package struct BatchOrigin: Sendable {
    package var author: String?
    package var contextName: String?

    package init(author: String? = nil, contextName: String? = nil) {
        self.author = author
        self.contextName = contextName
    }
}
