internal import Foundation

/// Returns the memory of released objects to the system.
///
/// The C library keeps freed memory for later allocations, and returns it to the system only at the end of the heap. After a million small
/// objects, some object near the end is usually still in use. `malloc_trim` returns every free page.
enum FreedMemory {
    /// The number of objects released together from which a call is worthwhile. The call takes some milliseconds, and so does the reuse of the
    /// pages. A list that is fetched repeatedly stays below.
    private static let objectsWorthIt = 1 << 19

    /// `malloc_trim` of the GNU C library; nil with other libraries, where nothing is returned.
    private static let trim: (@convention(c) (Int) -> Int32)? =
        unsafe dlsym(nil, "malloc_trim").map { unsafe unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self) }

    static func giveBack(after objects: Int) {
        if objects >= objectsWorthIt { _ = trim?(0) }
    }
}
