import Foundation

/// What the machine does without any store.
enum Floor {
    /// The seconds of so many durable writes: 4 KiB overwritten in a file whose blocks exist, and fdatasync.
    static func commits(_ count: Int, in folder: Folder) throws -> [Double] {
        let file = open(try folder.empty("floor"), O_RDWR | O_CREAT, 0o644)
        defer { close(file) }
        let block = [UInt8](repeating: 7, count: 4096)
        for i in 0..<256 { pwrite(file, block, 4096, off_t(i * 4096)) }
        fsync(file)
        return (0..<count).map { i in
            timed {
                pwrite(file, block, 4096, off_t(i % 256 * 4096))
                fdatasync(file)
            }.seconds
        }
    }
}
