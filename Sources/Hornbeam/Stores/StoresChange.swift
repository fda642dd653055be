/// The stores that were added to a coordinator, removed or moved (PSC-17).
public struct StoresChange: Hashable, Sendable {
    /// A store at its old and its new URL.
    public struct Move: Hashable, Sendable {
        /// The store at its old URL.
        public let from: PersistentStore
        /// The store at its new URL.
        public let to: PersistentStore
    }

    /// The stores that were added.
    public var added: [PersistentStore] = []
    /// The stores that were removed.
    public var removed: [PersistentStore] = []
    /// The stores that were moved.
    public var moved: [Move] = []
}
