// The one error type of the engine: the event, the affected file or tree, and the remedy.

/// An error of the engine.
@usableFromInline package struct EngineError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure that callers tell apart.
    package enum Code: String, Sendable, Hashable {
        /// There is no store at the path: other files are there, or nothing is there and no store may be created.
        case notAStore
        /// A newer version of the library wrote the store in a format that this version cannot read.
        case newerFormat
        /// Another process, or another engine in this process, has the store open for writing.
        case storeInUse
        /// Another process that writes the store did not hand over the writer's turn within the time limit.
        case busy
        /// A page, a log frame or a meta block fails its check or contradicts itself.
        case damaged
        /// Acknowledged commits are missing from the middle or end of the log.
        case logDamaged
        /// The disk, the quota or the memory budget is exhausted; nothing was lost.
        case full
        /// The folder or medium does not allow writing.
        case readOnly
        /// The operating system refused a call.
        case inputOutput
        /// A sync of the log failed: what is durable is unknown until the store is reopened.
        case durabilityLost
        /// The engine, the snapshot or the transaction is closed.
        case closed
        /// The version is no longer available: the snapshot is older than its age limit, or the transaction is not retained.
        case snapshotExpired
        /// A value does not fit the format: a key too long, a row too wide.
        case tooLarge
        /// A tree, column or name that does not exist, or exists already.
        case unknownTree
        /// Another process changed the schema of a shared store.
        case schemaChanged
        /// A report of progress cancelled the work.
        case cancelled
    }

    package var code: Code
    /// One or two sentences: the event, the affected thing, and the remedy.
    package var message: String
    /// The affected file; nil if the error concerns no file.
    package var path: String?
    /// The operating system's error number, or 0.
    package var errno: Int32
    /// True if the device could not read a page.
    var isOfPageRead = false

    package init(_ code: Code, _ message: String, path: String? = nil, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.path = path
        self.errno = errno
    }

    /// True if a page cannot be read, or is wrong.
    package var isUnreadable: Bool { code == .damaged || isOfPageRead }

    @usableFromInline package var description: String {
        var text = "\(code.rawValue): \(message)"
        if let path { text += " [\(path)]" }
        return text
    }
}
