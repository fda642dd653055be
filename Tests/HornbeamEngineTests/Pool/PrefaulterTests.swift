import Glibc
import Testing

@testable import HornbeamEngine

/// Memory brought in ahead of its use by another thread.
@Suite struct PrefaulterTests {
    /// Fresh memory, and how many of its pages the system holds.
    private struct Memory: ~Copyable {
        let start: UnsafeMutableRawPointer
        let bytes: Int

        init(bytes: Int) throws {
            start = try #require(mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            self.bytes = bytes
        }

        deinit { munmap(start, bytes) }

        var residentPages: Int {
            var pages = [UInt8](repeating: 0, count: bytes / Int(getpagesize()))
            #expect(mincore(start, bytes, &pages) == 0)
            return pages.count { $0 & 1 == 1 }
        }
    }

    @Test(arguments: [1, 511, 512, 513, 2000])
    func aRangeIsThereWhenTheNextBeginsAndNothingBeyondIt(pages: Int) throws {
        let page = Int(getpagesize())
        let memory = try Memory(bytes: 4096 * page)
        let prefaulter = Prefaulter()
        #expect(prefaulter.begin(memory.start, pages * page))
        while !prefaulter.begin(memory.start, 0) { usleep(100) }
        prefaulter.stop()
        // A kernel without the advice leaves the memory as it was; one with huge pages may round up to one.
        let there = memory.residentPages
        #expect(there == 0 || there >= pages && there < pages + 512)
    }

    @Test func stopWaitsForTheRunningPart() throws {
        for _ in 0..<50 {
            let memory = try Memory(bytes: 16 << 20)
            let prefaulter = Prefaulter()
            _ = prefaulter.begin(memory.start, memory.bytes)
            prefaulter.stop()
        }
    }

    @Test func bytesThatTheCallerWritesMeanwhileStay() throws {
        let memory = try Memory(bytes: 8 << 20)
        let prefaulter = Prefaulter()
        #expect(prefaulter.begin(memory.start, memory.bytes))
        for offset in stride(from: 0, to: memory.bytes, by: 4096) { memory.start.storeBytes(of: offset, toByteOffset: offset, as: Int.self) }
        prefaulter.stop()
        #expect(stride(from: 0, to: memory.bytes, by: 4096).allSatisfy { memory.start.load(fromByteOffset: $0, as: Int.self) == $0 })
    }
}
