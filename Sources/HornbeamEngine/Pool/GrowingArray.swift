// Arrays of plain values that grow without copying: the system moves the pages of large memory, which are huge pages if it has them.
//
// A Swift array copies its elements when it grows, and each small page of the new memory takes a page fault.

import Glibc

/// An array at the end of which values are added. Safe: indexes are checked, and the memory lives as long as the array.
@safe struct GrowingArray<Element: BitwiseCopyable>: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var memory: UnsafeMutablePointer<Element>?

    /// The number of bytes from which memory gets huge pages.
    private static var hugeFrom: Int { 2 * PoolMemory.hugePageBytes }

    init() {}

    deinit { unsafe free(memory) }

    /// The elements. Valid until the array changes.
    var elements: UnsafeMutableBufferPointer<Element> { unsafe UnsafeMutableBufferPointer(start: memory, count: count) }

    subscript(_ index: Int) -> Element {
        precondition(index >= 0 && index < count, "An index of an array is below its count.")
        return unsafe memory.unsafelyUnwrapped[index]
    }

    /// Adds an element.
    mutating func append(_ element: Element) {
        reserve(1)
        unsafe (memory.unsafelyUnwrapped + count).initialize(to: element)
        count += 1
    }

    /// Adds elements.
    mutating func append(contentsOf other: UnsafeBufferPointer<Element>) {
        guard other.count > 0, let source = other.baseAddress else { return }
        reserve(other.count)
        unsafe (memory.unsafelyUnwrapped + count).initialize(from: source, count: other.count)
        count += other.count
    }

    /// Removes all elements, and keeps the memory.
    mutating func removeAll() { count = 0 }

    /// Makes room for more elements.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if count + more > capacity { grow(to: count + more) }
    }

    @inline(never)
    private mutating func grow(to least: Int) {
        let stride = MemoryLayout<Element>.stride
        capacity = max(least, 2 * capacity, 64)
        // Large memory is a mapping of its own, whose pages `realloc` moves.
        guard let grown = unsafe realloc(memory, capacity * stride) else {
            preconditionFailure("The system has no memory for an array of \(capacity * stride) bytes.")
        }
        unsafe memory = grown.assumingMemoryBound(to: Element.self)
        guard capacity * stride >= Self.hugeFrom else { return }
        let page = PoolMemory.hugePageBytes
        let start = (Int(bitPattern: grown) + page - 1) / page * page
        let bytes = (Int(bitPattern: grown) + capacity * stride) / page * page - start
        // Without huge pages the memory is the same, only slower.
        if bytes > 0 { _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: start), bytes, PoolMemory.adviseHugePages) }
    }
}
