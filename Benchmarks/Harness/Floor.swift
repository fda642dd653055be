import Foundation

/// The raw baseline without a store: 4 KiB overwritten in a file whose blocks exist, and fdatasync.
final class Floor {
    private let file: Int32
    private let block = [UInt8](repeating: 7, count: 4096)

    init(in folder: Folder) throws {
        file = open(try folder.empty("floor"), O_RDWR | O_CREAT, 0o644)
        for i in 0..<256 { pwrite(file, block, 4096, off_t(i * 4096)) }
        fsync(file)
    }

    deinit { close(file) }

    /// The seconds that each of these durable writes took.
    func commits(_ range: Range<Int>) -> [Double] {
        range.map { i in
            timed {
                pwrite(file, block, 4096, off_t(i % 256 * 4096))
                fdatasync(file)
            }.seconds
        }
    }
}
