/// An error in the source, with its position.
struct Diagnostic: Equatable {
    /// A change that an editor offers to correct the error.
    struct Fix: Equatable {
        var message: String
        /// The bytes of the source that are replaced.
        var range: Range<Int>
        var text: String
    }

    /// The offset in the source of the declaration.
    var place: Int
    var message: String
    var fix: Fix?

    init(_ place: Int, _ message: String, fix: Fix? = nil) {
        self.place = place
        self.message = message
        self.fix = fix
    }
}
