import CLZ4

/// The decompressed bytes of a file of LZ4 frames, apt's format of lists. Safe: it owns the context and the input buffer.
@safe final class LZ4FrameSource: ByteSource {
    private let path: String
    private let file: any ByteSource
    private let context: OpaquePointer
    private let input: UnsafeMutableRawBufferPointer
    private var pending: Range<Int> = 0..<0
    /// False between frames.
    private var isInsideFrame = false

    init(_ file: any ByteSource, path: String) throws {
        var context: OpaquePointer?
        guard unsafe LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0, let context = unsafe context else {
            throw CatalogueError("There is not enough memory to decompress '\(path)'.")
        }
        self.path = path
        self.file = file
        unsafe self.context = unsafe context
        unsafe input = .allocate(byteCount: 256 * 1024, alignment: 16)
    }

    deinit {
        unsafe LZ4F_freeDecompressionContext(context)
        unsafe input.deallocate()
    }

    var fractionRead: Double { file.fractionRead }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            if pending.isEmpty {
                let count = unsafe try file.read(into: input)
                if count == 0 {
                    // The context may still contain decoded bytes that did not fit into the last buffer.
                    let flushed = unsafe isInsideFrame ? try decompress(into: buffer) : 0
                    if flushed > 0 { return flushed }
                    guard !isInsideFrame else {
                        throw CatalogueError(
                            "'\(path)' ends in the middle of its LZ4 data; run 'apt-get update' to fetch it again.")
                    }
                    return 0
                }
                pending = 0..<count
            }
            let count = unsafe try decompress(into: buffer)
            if count > 0 { return count }
        }
    }

    private func decompress(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var produced = buffer.count
        var consumed = pending.count
        let hint = unsafe LZ4F_decompress(
            context, buffer.baseAddress, &produced, input.baseAddress! + pending.lowerBound, &consumed, nil)
        guard LZ4F_isError(hint) == 0 else {
            let reason = unsafe String(cString: LZ4F_getErrorName(hint))
            throw CatalogueError("'\(path)' is not valid LZ4 data (\(reason)); run 'apt-get update' to fetch it again.")
        }
        pending = (pending.lowerBound + consumed)..<pending.upperBound
        isInsideFrame = hint != 0
        return produced
    }
}
