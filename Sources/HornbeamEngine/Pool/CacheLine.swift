// Prefetch hints for higher modules, which do not import C.

internal import CSystem

package enum CacheLine {
    /// Prefetches two cache lines that will be read soon. Invalid addresses are permitted: a prefetch never faults.
    package static func prefetch(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer) {
        unsafe prefetch_line(first)
        unsafe prefetch_line(second)
    }
}
