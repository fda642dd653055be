// Scans a page file for valid records, without using references. A record may begin at each multiple of eight bytes.

extension PageFiles {
    private static let windowBytes = 1 << 20
    /// The length of the largest record: header, payload and padding.
    private static let recordBytesMax = PageHeader.bytes + PageAppender.payloadBytesMax + 8

    /// Calls `body` with each record whose check is valid at its address. Reads the whole file in pieces.
    func forEachRecord(
        in summary: PageFileSummary, _ body: (PageReference, PageHeading) -> Void
    ) throws(EngineError) {
        let file = try handle(summary.number).file
        var window = [UInt8](repeating: 0, count: PageFiles.windowBytes + PageFiles.recordBytesMax)
        var start: UInt64 = 0
        while start < summary.bytes {
            let filled = unsafe try window.withMutableBytes { (buffer) throws(EngineError) in
                unsafe try file.read(into: buffer, at: start)
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
