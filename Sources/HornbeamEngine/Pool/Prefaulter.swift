// Populates memory before it is used. The first access to a page makes the kernel clear it. On a virtual machine it often causes a page fault
// of the host too, which takes a hundred times as long as copying a page. For a pool that grows fast, another thread does this in parallel.

import Glibc
internal import HornbeamThreads
import Synchronization

/// Populates ranges of a pool's memory, each on a new thread.
@safe final class Prefaulter: Sendable {
    private let isBusy = Atomic(false)
    private let isStopped = Atomic(false)
    private let forks = ProcessForks.watch()
    nonisolated(unsafe) private var thread: pthread_t?  // guarded by the pool's lock

    private static let populateForWriting: Int32 = 23  // MADV_POPULATE_WRITE; older kernels refuse it, which costs only time

    @safe private final class Range: Sendable {
        let prefaulter: Prefaulter
        nonisolated(unsafe) let start: UnsafeMutableRawPointer  // the pool's memory, which stays until `stop` has returned
        let bytes: Int
        init(_ prefaulter: Prefaulter, _ start: UnsafeMutableRawPointer, _ bytes: Int) {
            self.prefaulter = prefaulter
            unsafe self.start = unsafe start
            self.bytes = bytes
        }

        /// Populates the range in pieces, because other threads that map memory wait during each call.
        func populate() {
            for offset in stride(from: 0, to: bytes, by: PoolMemory.hugePageBytes) where !prefaulter.isStopped.load(ordering: .relaxed) {
                unsafe Prefaulter.populate(start + offset, min(PoolMemory.hugePageBytes, bytes - offset))
            }
            prefaulter.isBusy.store(false, ordering: .releasing)
        }
    }

    /// Populates a range on the calling thread.
    static func populate(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        _ = unsafe madvise(start, bytes, populateForWriting)
    }

    /// Starts to populate a range on another thread; false if another range is in progress or no thread could be created.
    func begin(_ start: UnsafeMutableRawPointer, _ bytes: Int) -> Bool {
        guard !isBusy.load(ordering: .acquiring) else { return false }
        join()
        isBusy.store(true, ordering: .relaxed)
        let range = unsafe Unmanaged.passRetained(unsafe Range(self, start, bytes))
        var id = pthread_t()
        let created = unsafe pthread_create(
            &id, nil,
            { argument in
                unsafe Unmanaged<Range>.fromOpaque(argument!).takeRetainedValue().populate()
                return nil
            }, range.toOpaque())
        guard created == 0 else {
            unsafe range.release()
            isBusy.store(false, ordering: .relaxed)
            return false
        }
        unsafe thread = id
        return true
    }

    /// Stops the thread and waits for it. Called before the memory is released.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        join()
    }

    private func join() {
        guard let running = unsafe thread else { return }
        // A forked child does not have its parent's threads.
        if forks == ProcessForks.count { pthread_join(running, nil) }
        unsafe thread = nil
    }
}
