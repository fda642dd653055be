// Memory brought in ahead of its use. The first touch of a page costs a clearing by the kernel, and on a virtual machine often a
// fault of the host beneath it, which is a hundred times as long as copying into it; a pool that grows fast has another processor
// do that meanwhile.

import Glibc
internal import HornbeamThreads
import Synchronization

/// Populates one range of a pool's memory after the other on a thread that lives as long as the range takes.
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

        /// In pieces, since whoever maps memory elsewhere waits for each.
        func populate() {
            for offset in stride(from: 0, to: bytes, by: PoolMemory.hugePageBytes) where !prefaulter.isStopped.load(ordering: .relaxed) {
                unsafe Prefaulter.populate(start + offset, min(PoolMemory.hugePageBytes, bytes - offset))
            }
            prefaulter.isBusy.store(false, ordering: .releasing)
        }
    }

    /// At once, on the calling thread.
    static func populate(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        _ = unsafe madvise(start, bytes, populateForWriting)
    }

    /// Begins with a range; false if another one is under way, or the system has no thread to give.
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

    /// Ends what is under way, before the memory goes.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        join()
    }

    private func join() {
        guard let running = unsafe thread else { return }
        // Threads are not forked with their process.
        if forks == ProcessForks.count { pthread_join(running, nil) }
        unsafe thread = nil
    }
}
