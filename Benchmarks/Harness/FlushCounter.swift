import Foundation

/// Counts the flushes that reach the device below a folder, from any process: the kernel's own count.
struct FlushCounter {
    private let path: String

    /// Nil if the system has no count.
    init?(below folder: String) {
        var status = stat()
        guard stat(folder, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        let major = (device >> 8) & 0xFFF
        let minor = (device & 0xFF) | ((device >> 12) & 0xFFF00)
        path = "/sys/dev/block/\(major):\(minor)/stat"
        guard count != nil else { return nil }
    }

    /// The flush requests that the device has completed since it was attached.
    var count: Int? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let fields = text.split(whereSeparator: \.isWhitespace)
        return fields.count > 15 ? Int(fields[15]) : nil
    }
}
