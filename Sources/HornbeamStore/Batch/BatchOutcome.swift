/// The result of a batch update or delete.
package struct BatchOutcome: Sendable {
    /// The number of objects that matched the request; for a delete, with those that its delete rules deleted.
    package var count = 0
    /// The counted objects, sorted by key; empty unless the request selects them.
    package var objects: [ObjectReference] = []
    /// The number of the commit, or the newest transaction when the batch changed nothing.
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
