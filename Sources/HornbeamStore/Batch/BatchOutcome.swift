/// The result of a batch update or delete.
package struct BatchOutcome: Sendable {
    /// The number of objects that matched the request; for a delete, with those that its delete rules deleted.
    package var count = 0
    /// The objects counted, by key; empty unless the request asks for them.
    package var objects: [ObjectReference] = []
    /// The number of the commit; the newest transaction when nothing was changed.
    package var transaction: UInt64 = 0
}

/// The author and context of a batch, which are recorded with the commit.
package struct BatchOrigin: Sendable {
    package var author: String?
    package var contextName: String?

    package init(author: String? = nil, contextName: String? = nil) {
        self.author = author
        self.contextName = contextName
    }
}
