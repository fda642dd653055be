// Scans a page file for valid records, without using references. A record may begin at each multiple of eight bytes. Unreadable sectors are skipped.

extension PageFiles {
    private static let windowBytes = 1 << 20
    /// The length of the largest record: header, payload and padding.
    private static let recordBytesMax = PageHeader.bytes + PageAppender.payloadBytesMax + 8

    private static let sectorBytes = 4096

    /// Calls `body` with each record whose check is valid at its address. Reads the whole file in pieces.
    func forEachRecord(
        in summary: PageFileSummary, _ body: (PageReference, PageHeading) -> Void
    ) throws(EngineError) {
        let file = try handle(summary.number).file
        var window = [UInt8](repeating: 0, count: PageFiles.windowBytes + PageFiles.recordBytesMax)
        var start: UInt64 = 0
        while start < summary.bytes {
            let filled = unsafe try window.withMutableBytes { (buffer) throws(EngineError) in
                unsafe try readSectors(of: file, into: buffer, at: start, end: summary.bytes)
            }
            guard filled >= PageHeader.bytes else { return }
            // A record that begins near the end may extend beyond the window. It is found in the next window.
            let isLast = start + UInt64(filled) >= summary.bytes
            let end = isLast ? filled - PageHeader.bytes + 1 : PageFiles.windowBytes
            var offset = 0
            unsafe window.withBytes { bytes in
                while offset < end {
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<filled])
                    if let (reference, heading) = unsafe record(rest, in: summary.number, at: start + UInt64(offset)) {
                        body(reference, heading)
                        offset += reference.recordBytes
                    } else {
                        offset += 8
                    }
                }
            }
            start += UInt64(offset)
        }
    }

    /// Reads bytes before `end`. If the system reports an error, reads each sector by itself, and fills those that cannot be read with zeros.
    private func readSectors(
        of file: any File, into buffer: UnsafeMutableRawBufferPointer, at start: UInt64, end: UInt64
    ) throws(EngineError) -> Int {
        do throws(EngineError) { return unsafe try file.read(into: buffer, at: start) } catch {
            guard error.code == .inputOutput else { throw error }
        }
        let count = min(buffer.count, Int(end - start))
        var offset = 0
        while offset < count {
            let next = min(offset + PageFiles.sectorBytes - Int(start + UInt64(offset)) % PageFiles.sectorBytes, count)
            let sector = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<next])
            do throws(EngineError) { _ = unsafe try file.read(into: sector, at: start + UInt64(offset)) } catch {
                guard error.code == .inputOutput else { throw error }
                unsafe sector.initializeMemory(as: UInt8.self, repeating: 0)
            }
            offset = next
        }
        return count
    }

    /// The record at the start of the bytes; nil if its check is not valid.
    private func record(
        _ bytes: UnsafeRawBufferPointer, in file: PageFileNumber, at offset: UInt64
    ) -> (PageReference, PageHeading)? {
        guard case .success(let header) = unsafe PageHeader.decode(bytes),
            header.storedBytes <= PageAppender.payloadBytesMax, header.recordBytes <= bytes.count
        else { return nil }
        let stored: UInt64 = unsafe bytes.integer(at: PageHeader.checkOffset)
        let reference = PageReference(file: file, offset: offset, recordBytes: header.recordBytes, check: stored, count: 0)
        let payload = unsafe bytes.part(PageHeader.bytes..<PageHeader.bytes + header.storedBytes)
        let check = unsafe PageHeader.check(header: bytes, payload: payload, salt: salt, address: reference.address)
        return check == stored ? (reference, header.heading) : nil
    }
}
