internal import Foundation

/// Returns the memory of released objects to the system.
///
/// The C library caches freed memory for later allocations. It returns only the free memory at the end of the heap to the system, and after the
/// release of a million small objects, some object near the end is usually still in use. `malloc_trim` returns every free page.
enum FreedMemory {
    /// The smallest number of objects, released together, for which `malloc_trim` is called. The call takes some milliseconds, and so does the next
    /// use of the pages. A list that is fetched repeatedly has fewer objects.
    private static let objectsWorthIt = 1 << 19

    /// `malloc_trim` of the GNU C library; nil with other libraries.
    private static let trim: (@convention(c) (Int) -> Int32)? =
        unsafe dlsym(nil, "malloc_trim").map { unsafe unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self) }

    static func returnToSystem(after objects: Int) {
        if objects >= objectsWorthIt { _ = trim?(0) }
    }
}
