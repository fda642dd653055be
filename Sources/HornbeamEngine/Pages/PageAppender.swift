// Appends page records to page files that no other appender writes. It compresses in the caller's thread without a lock. Under its lock it
// assigns the address, computes the check, which depends on the address, and copies the record into a buffer that is flushed in large writes.
// Records are durable after `sync()`. No durable structure may refer to them before.

internal import HornbeamThreads

/// Appends pages. Any number of threads may append at once; different appenders write to different files.
package final class PageAppender: Sendable {
    /// A payload is stored compressed only if this saves at least 12 % of its size.
    static let compressedPercentMax = 88
    /// After a sync the next record starts at a new device block, so that no later write changes a block with durable records.
    static let blockBytes = DeviceBlock.bytes
    /// The largest payload of one record.
    package static let payloadBytesMax = 1 << 18

    /// A file with records that no sync has covered.
    struct Unsynced {
        var number: PageFileNumber
        var file: any File
        /// Whether an earlier sync made part of the file durable.
        var holdsSyncedBytes: Bool
    }

    struct State {
        var number: PageFileNumber?
        var file: (any File)?
        /// The file offset of the buffer's first byte.
        var bufferOffset: UInt64 = 0
        let buffer: WriteBuffer
        var buffered = 0
        var unsynced: [Unsynced] = []
        var hasNewFiles = false
        /// Whether the current file has durable records.
        var holdsSyncedBytes = false
        var fileSizeLimit: UInt64
        var bytesAppended: UInt64 = 0
        /// Returns true while the writes may be throttled, because no thread waits for them. If nil, writes are not throttled.
        var mayThrottle: (@Sendable () -> Bool)?

        var end: UInt64 { bufferOffset + UInt64(buffered) }
    }

    let files: PageFiles
    /// Guards the state of the appender. Locked during the large writes on purpose, which limits the rate of appends.
    let state: Guarded<State>
    /// In a forked child, a thread of the parent may hold the lock for ever.
    private let forks = ProcessForks.watch()

    init(files: PageFiles, fileSizeLimit: Int, bufferBytes: Int) {
        let capacity = max(bufferBytes, PageAppender.payloadBytesMax + 4096)
        self.files = files
        state = Guarded(State(buffer: WriteBuffer(bytes: capacity), fileSizeLimit: UInt64(fileSizeLimit)))
    }

    deinit {
        guard forks == ProcessForks.count else { return }
        // Readers may still need the buffered records. If the write fails, reading them throws.
        state.withLock { state in
            do throws(EngineError) { try writeBuffer(&state) } catch {}
        }
    }

    /// Sets the length at which the next record begins a new file.
    func limitFiles(toBytes bytes: Int) { state.withLock { $0.fileSizeLimit = UInt64(bytes) } }

    /// Throttles later writes while `mayThrottle` returns true; nil ends throttling.
    func setThrottle(_ mayThrottle: (@Sendable () -> Bool)?) { state.withLock { $0.mayThrottle = mayThrottle } }

    /// Bytes of records appended in the appender's life, padding included.
    package var bytesAppended: UInt64 { state.withLock { $0.bytesAppended } }

    /// Appends one page and returns its reference. `count` is stored in the reference unchanged.
    ///
    /// The payload is at most 256 KiB. Throws `full` when the disk is full; then call `abandon()`.
    package func append(
        _ heading: PageHeading, _ payload: UnsafeRawBufferPointer, count: UInt64 = 0
    ) throws(EngineError) -> PageReference {
        try unsafe withUnsafeTemporaryAllocation(byteCount: payload.count + 1, alignment: 8) { (scratch) throws(EngineError) in
            let page = unsafe PageAppender.encode(heading, payload, into: scratch)
            return try unsafe place(page.header, page.payload, count: count)
        }
    }

    /// A page in its stored form, without an address. Safe: the caller of `encode` keeps the payload's memory until the page is appended.
    @safe struct EncodedPage {
        let header: PageHeader
        let payload: UnsafeRawBufferPointer
    }

    /// Writes a payload as segments, or compresses it, into `scratch` if that saves enough. Any thread may call it; the result is in `payload` or `scratch`.
    ///
    /// - Parameter parts: The parts of a leaf; empty for other payloads, which are only compressed.
    static func encode(
        _ heading: PageHeading, _ payload: UnsafeRawBufferPointer, _ parts: [PagePart] = [], into scratch: UnsafeMutableRawBufferPointer
    ) -> EncodedPage {
        precondition(heading.tree <= .max && heading.level < 256, "A page header holds 24 bits of tree and 8 of level.")
        precondition(payload.count <= PageAppender.payloadBytesMax, "A page's payload is at most 256 KiB.")
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[..<(payload.count * PageAppender.compressedPercentMax / 100)])
        var header = PageHeader(heading: heading, codec: .raw, storedBytes: payload.count, rawBytes: payload.count)
        if let used = unsafe PageSegments.encode(payload, parts, into: target) {
            (header.codec, header.storedBytes) = (.segments, used)
        } else if let used = unsafe LZ4.compress(payload, into: target) {
            (header.codec, header.storedBytes) = (.lz4, used)
        } else {
            return unsafe EncodedPage(header: header, payload: payload)
        }
        return unsafe EncodedPage(header: header, payload: UnsafeRawBufferPointer(rebasing: target[..<header.storedBytes]))
    }

    /// Appends a page that was encoded before.
    func append(_ page: EncodedPage, count: UInt64) throws(EngineError) -> PageReference {
        try unsafe place(page.header, page.payload, count: count)
    }

    /// Puts an encoded record at the end of the current file.
    func place(
        _ header: PageHeader, _ payload: UnsafeRawBufferPointer, flags: UInt16 = 0, count: UInt64
    ) throws(EngineError) -> PageReference {
        try state.withLock { (state) throws(EngineError) in
            let length = header.recordBytes
            let number = try prepare(&state, for: length)
            assert(payload.count == header.storedBytes, "A header names the size of its payload.")
            assert(state.buffered + length <= state.buffer.count, "The buffer has room for the record.")
            let record = unsafe state.buffer[state.buffered..<state.buffered + length]
            let offset = state.end
            assert(offset & 7 == 0, "Records begin at multiples of eight bytes.")
            unsafe header.encode(into: record)
            let body = unsafe UnsafeMutableRawBufferPointer(rebasing: record[PageHeader.bytes...])
            unsafe body.copyMemory(from: payload)
            for index in payload.count..<body.count { unsafe body[index] = 0 }
            let address = UInt64(number.rawValue) << 32 | offset >> 3
            let check = unsafe PageHeader.check(
                header: UnsafeRawBufferPointer(record), payload: payload, salt: files.salt, address: address)
            unsafe record.storeBytes(of: check.littleEndian, toByteOffset: PageHeader.checkOffset, as: UInt64.self)
            state.buffered += length
            state.bytesAppended += UInt64(length)
            return PageReference(
                file: number, offset: offset, recordBytes: length, flags: flags, check: check, count: count)
        }
    }

    /// Makes room for a record in the buffer. Begins a new file if there is no current file, or if it is full.
    private func prepare(_ state: inout State, for length: Int) throws(EngineError) -> PageFileNumber {
        if state.number != nil, state.end > 0, state.end + UInt64(length) > state.fileSizeLimit {
            try finishFile(&state)
        }
        if state.buffered + length > state.buffer.count { try writeBuffer(&state) }
        if let number = state.number {
            if state.unsynced.last?.number != number { recordUnsynced(&state) }
            return number
        }
        let (number, file) = try files.create(for: self)
        state.number = number
        state.file = file
        state.bufferOffset = 0
        state.hasNewFiles = true
        state.holdsSyncedBytes = false
        recordUnsynced(&state)
        return number
    }

    private func recordUnsynced(_ state: inout State) {
        guard let number = state.number, let file = state.file else { return }
        assert(state.unsynced.allSatisfy { $0.number != number }, "A file is listed once for the next sync.")
        state.unsynced.append(Unsynced(number: number, file: file, holdsSyncedBytes: state.holdsSyncedBytes))
    }

    func writeBuffer(_ state: inout State) throws(EngineError) {
        assert(state.buffered == 0 || state.file != nil, "Buffered records belong to a file.")
        guard state.buffered > 0, let file = state.file else { return }
        let bytes = unsafe UnsafeRawBufferPointer(state.buffer[0..<state.buffered])
        if let mayThrottle = state.mayThrottle {
            try unsafe file.writeInPieces(bytes, at: state.bufferOffset, mayThrottle: mayThrottle)
        } else {
            try unsafe file.write(bytes, at: state.bufferOffset)
            // The device works while further records are made. The last block may get more of them.
            let start = state.bufferOffset & ~(PageAppender.blockBytes - 1)
            let count = Int((state.end & ~(PageAppender.blockBytes - 1)) - start)
            if count > 0 { try file.beginWriting(at: start, count: count) }
        }
        state.bufferOffset += UInt64(state.buffered)
        state.buffered = 0
    }

    func finishFile(_ state: inout State) throws(EngineError) {
        try writeBuffer(&state)
        if let number = state.number { files.seal(number) }
        state.number = nil
        state.file = nil
    }
}
