// Arrays of plain values that grow without copying: large memory is a mapping whose pages the system moves, huge pages if it has them.
//
// A Swift array copies its elements when it grows, and each small page of the new memory takes a page fault.

internal import CSystem
import Glibc

/// An array at the end of which values are added. Safe: indexes are checked, and the memory lives as long as the array.
@safe struct GrowingArray<Element: BitwiseCopyable>: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var memory: UnsafeMutablePointer<Element>?

    private var bytes: Int { capacity * MemoryLayout<Element>.stride }
    /// The number of bytes from which the memory is a mapping.
    private static var mappedFrom: Int { 2 * PoolMemory.hugePageBytes }

    init() {}

    deinit {
        if bytes < Self.mappedFrom { unsafe free(memory) } else { unsafe munmap(memory, bytes) }
    }

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
        let before = bytes
        capacity = max(least, 2 * capacity, 64)
        guard let grown = unsafe reallocated(from: before) else {
            preconditionFailure("The system has no memory for an array of \(bytes) bytes.")
        }
        unsafe memory = grown.assumingMemoryBound(to: Element.self)
        // Without huge pages the memory is the same, only slower.
        if bytes >= Self.mappedFrom { _ = unsafe madvise(grown, bytes, PoolMemory.adviseHugePages) }
    }

    /// Memory for the capacity with the elements; nil if the system has none.
    private func reallocated(from before: Int) -> UnsafeMutableRawPointer? {
        if bytes < Self.mappedFrom { return unsafe realloc(memory, bytes) }
        if before >= Self.mappedFrom {
            let moved = unsafe mapping_grow(memory, UInt(before), UInt(bytes))
            return unsafe moved == MAP_FAILED ? nil : moved
        }
        let mapping = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else { return nil }
        if let memory = unsafe memory {
            unsafe mapping.copyMemory(from: memory, byteCount: count * MemoryLayout<Element>.stride)
            unsafe free(memory)
        }
        return unsafe mapping
    }
}
