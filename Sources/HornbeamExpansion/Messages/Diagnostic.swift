/// An error in the source, with its position.
struct Diagnostic: Equatable {
    /// A change that an editor offers to correct the error.
    struct Fix: Equatable {
        var message: String
        /// The bytes of the source that are replaced.
        var range: Range<Int>
        var text: String
    }

    /// The byte offset in the source text of the declaration.
    var position: Int
    var message: String
    var fix: Fix?

    init(_ position: Int, _ message: String, fix: Fix? = nil) {
        self.position = position
        self.message = message
        self.fix = fix
    }
}
