// Makes the first segment of a log together with its store. So the syncs of the new store cover the segment's name too, and its first commit
// creates no file.

extension PreparedSegment {
    /// The usual length of the first segment. A new store often receives few commits, and its creation waits until the zeros are written.
    private static let firstBytes = 64 << 10

    /// Writes the first segment into the folder of a new store. The caller syncs the file and the folder.
    static func writeFirst(
        in directory: String, fileSystem: any FileSystem, store: StoreIdentifier, options: LogOptions
    ) throws(EngineError) -> PreparedSegment {
        let bytes = (min(options.firstSegmentBytes, firstBytes) + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1)
        var header = LogSegmentHeader(store: store, number: LogSegmentNumber(1), salt: options.salt(), segmentBytes: UInt64(bytes))
        var content = [UInt8](repeating: 0, count: bytes)
        unsafe content.withMutableBytes { unsafe header.encode(into: UnsafeMutableRawBufferPointer(rebasing: $0[..<LogSegmentHeader.bytes])) }
        let file = try fileSystem.open(join(directory, header.number.fileName), .create)
        unsafe try content.withBytes { (bytes) throws(EngineError) in unsafe try file.write(bytes, at: 0) }
        // The sync of another new file then also records the blocks of this one in the journal of most file systems.
        try file.beginWriting(at: 0, count: bytes)
        return PreparedSegment(file: file, header: header)
    }

    /// Opens the first segment of a store that was just created; nil if another process has opened the store meanwhile.
    static func openFirst(
        _ header: LogSegmentHeader, in directory: String, fileSystem: any FileSystem, listing: [String]
    ) -> PreparedSegment? {
        let reader = LogReader(directory: directory, fileSystem: fileSystem, store: header.store, listing: listing)
        guard let numbers = try? reader.segments(), numbers == [header.number], let segment = try? reader.open(header.number),
            segment.header == header, segment.start == nil, let file = try? fileSystem.open(segment.file.path, .readWrite)
        else { return nil }
        return PreparedSegment(file: file, header: header)
    }
}
