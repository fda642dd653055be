internal import Foundation

/// Memory of objects that were let go.
///
/// The C library keeps what is freed for the next who asks, and gives it back to the system only from the end of the heap, where
/// after a million small objects something is always left. Asked to, it gives back every free page.
enum FreedMemory {
    /// Objects let go at once from which on asking is worth its time, which is some milliseconds, and the same again when the pages are
    /// needed anew. A list that is fetched again and again stays below.
    private static let objectsWorthIt = 1 << 19

    /// `malloc_trim` of the GNU C library; nil with other libraries, which do without.
    private static let trim: (@convention(c) (Int) -> Int32)? =
        dlsym(nil, "malloc_trim").map { unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self) }

    static func giveBack(after objects: Int) {
        if objects >= objectsWorthIt { _ = trim?(0) }
    }
}
