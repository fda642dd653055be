import Foundation

/// Bytes read from beginning to end.
protocol ByteSource: AnyObject {
    /// Fills the front of the buffer; returns the number of bytes, 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// The fraction of the file read so far, 0 … 1.
    var fractionRead: Double { get }
}

/// An uncompressed file.
final class FileSource: ByteSource {
    let path: String
    let size: Int
    private let handle: Int32
    private var position = 0

    init(_ path: String) throws {
        self.path = path
        handle = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard handle >= 0 else { throw CatalogueError.cannotRead(path, errno) }
        var status = stat()
        guard unsafe fstat(handle, &status) == 0 else {
            close(handle)
            throw CatalogueError.cannotRead(path, errno)
        }
        size = Int(status.st_size)
    }

    deinit { close(handle) }

    var fractionRead: Double { size == 0 ? 1 : min(1, Double(position) / Double(size)) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = unsafe Foundation.read(handle, buffer.baseAddress, buffer.count)
            if count >= 0 {
                position += count
                return count
            }
            guard errno == EINTR else { throw CatalogueError.cannotRead(path, errno) }
        }
    }
}
