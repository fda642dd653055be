// Prefetch hints for the modules above, which do not import C.

internal import CSystem

package enum CacheLine {
    /// Prefetches two cache lines that will be read soon. Any address is permitted, since nothing is read.
    package static func fetch(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer) {
        unsafe fetch_line(first)
        unsafe fetch_line(second)
    }
}
