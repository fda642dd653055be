// Reads a page: one positional read of the whole record, then the checks of magic, sizes, checksum and stamp, then decompression. An invalid
// record is read a second time, since the first read may have returned wrong bytes. If it is invalid again, the error names file, offset and
// field.

internal import HornbeamThreads
internal import Synchronization

extension PageFiles {
    /// Reads and verifies a page into the start of `buffer`, which holds at least its raw bytes.
    ///
    /// Throws `damaged` when the check of the record fails, or when the record does not match the reference or the expected kind.
    package func read(
        _ reference: PageReference, into buffer: UnsafeMutableRawBufferPointer, expecting kind: PageKind? = nil
    ) throws(EngineError) -> PageInfo {
        unsafe try withRecord(reference) { (header, payload) throws(PageFault) in
            if let kind, header.heading.kind != kind { throw .unexpected }
            guard header.rawBytes <= buffer.count else { throw .raw }
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<header.rawBytes])
            switch header.codec {
            case .raw: unsafe target.copyMemory(from: payload)
            case .lz4: guard unsafe LZ4.decompress(payload, into: target) else { throw .compression }
            case .segments: guard unsafe PageSegments.decode(payload, into: target) else { throw .compression }
            }
            return PageInfo(heading: header.heading, rawBytes: header.rawBytes)
        }
    }

    /// Reads and verifies a page, and unpacks parts of it into the start of `buffer`, as `PageSegments.decodeParts`. A page that is not stored as
    /// segments is unpacked whole. Returns its size; nil if it does not fit the buffer or cannot be unpacked.
    func readParts(
        of reference: PageReference, prefix: inout Int, into buffer: UnsafeMutableRawBufferPointer, wanted: (UnsafeRawBufferPointer) -> [Range<Int>]?
    ) throws(EngineError) -> Int? {
        unsafe try withRecord(reference) { (header, payload) throws(PageFault) in
            guard header.rawBytes <= buffer.count else { return nil }
            let target = unsafe buffer.part(0..<header.rawBytes)
            let isRead: Bool
            switch header.codec {
            case .raw:
                unsafe target.copyMemory(from: payload)
                isRead = unsafe wanted(UnsafeRawBufferPointer(target)) != nil
            case .lz4: isRead = unsafe LZ4.decompress(payload, into: target) && wanted(UnsafeRawBufferPointer(target)) != nil
            case .segments: isRead = unsafe PageSegments.decodeParts(payload, prefix: &prefix, into: target, wanted: wanted)
            }
            return isRead ? header.rawBytes : nil
        }
    }

    /// Asks the system to read a page ahead.
    func readAhead(_ reference: PageReference) {
        guard !reference.isEmpty, reference.address >> 63 == 0, let entry = try? handle(reference.file) else { return }
        entry.file.readAhead(at: reference.offset, count: reference.recordBytes)
    }

    /// Reads and verifies a record, and calls `body` with its header and its stored payload.
    func withRecord<R>(
        _ reference: PageReference, _ body: (PageHeader, UnsafeRawBufferPointer) throws(PageFault) -> R
    ) throws(EngineError) -> R {
        let count = reference.recordBytes
        guard !reference.isEmpty, reference.address >> 63 == 0, count >= PageHeader.bytes else {
            throw damage(.address, reference)
        }
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { (record) throws(EngineError) in
            var fault = PageFault.check
            for _ in 0..<2 {
                let reading = unsafe try fill(record, from: reference)
                do throws(PageFault) {
                    guard let (file, nanoseconds) = reading else { throw .short }
                    let header = unsafe try verified(UnsafeRawBufferPointer(record), reference)
                    switch cachePriority.action(after: header.heading.kind, readNanoseconds: nanoseconds) {
                    case .keep: break
                    case .remove: file.removeFromCache(at: reference.offset, count: count)
                    // The sync of a commit would wait for the block.
                    case .readAround where writersAtWork.load(ordering: .relaxed) > 0: break
                    case .readAround:
                        let block = PageCachePriority.blockBytes
                        file.readAhead(at: reference.offset / block * block, count: Int(block))
                    }
                    let payload = unsafe record[PageHeader.bytes..<PageHeader.bytes + header.storedBytes]
                    return unsafe try body(header, unsafe UnsafeRawBufferPointer(rebasing: payload))
                } catch {
                    fault = error
                }
            }
            throw damage(fault, reference)
        }
    }

    /// Reads the bytes of a record, and flushes the appender's buffer if they are still in it. Returns the file and the time that the read took, 0 after
    /// a flush; nil when the file ends too early.
    private func fill(
        _ record: UnsafeMutableRawBufferPointer, from reference: PageReference
    ) throws(EngineError) -> (file: any File, nanoseconds: UInt64)? {
        let entry = try handle(reference.file)
        let start = MonotonicClock.nanoseconds
        if try unsafe read(record, from: entry.file, at: reference.offset) { return (entry.file, MonotonicClock.nanoseconds - start) }
        guard let appender = entry.appender else { return nil }
        try appender.flush()
        return try unsafe read(record, from: entry.file, at: reference.offset) ? (entry.file, 0) : nil
    }

    /// Reads the bytes of a record. Returns false when the file ends too early.
    private func read(_ record: UnsafeMutableRawBufferPointer, from file: any File, at offset: UInt64) throws(EngineError) -> Bool {
        do throws(EngineError) { return unsafe try file.read(into: record, at: offset) == record.count } catch {
            var error = error
            error.isOfPageRead = error.code == .inputOutput
            throw error
        }
    }

    private func verified(
        _ record: UnsafeRawBufferPointer, _ reference: PageReference
    ) throws(PageFault) -> PageHeader {
        let header = try unsafe PageHeader.decode(record).get()
        guard header.recordBytes == record.count else { throw .size }
        let payload = unsafe UnsafeRawBufferPointer(
            rebasing: record[PageHeader.bytes..<PageHeader.bytes + header.storedBytes])
        let check = unsafe PageHeader.check(header: record, payload: payload, salt: salt, address: reference.address)
        let stored = unsafe record.load(fromByteOffset: PageHeader.checkOffset, as: UInt64.self)
        guard UInt64(littleEndian: stored) == check else { throw .check }
        guard check & 0xFFFF_FFFF_0000_0000 == reference.checkHalf else { throw .stamp }
        guard header.codec != .raw || header.rawBytes == header.storedBytes else { throw .raw }
        return header
    }

    func damage(_ fault: PageFault, _ reference: PageReference) -> EngineError {
        EngineError(
            .damaged,
            "The page at offset \(reference.offset) of \(reference.file.fileName) is damaged: \(fault.rawValue). "
                + "Run a check, and restore the store from a backup.",
            path: path(of: reference.file))
    }
}
