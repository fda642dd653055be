// Hints to the processor's cache for the modules above, which have no C.

internal import CSystem

package enum CacheLine {
    /// Has two lines fetched that will be read soon. Any address will do: nothing is read.
    package static func fetch(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer) {
        unsafe fetch_line(first)
        unsafe fetch_line(second)
    }
}
