internal import HornbeamExpansion

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The program that expands Hornbeam's macros. The compiler starts it, writes requests to its standard input, and reads the responses.
///
/// A message consists of its length in eight bytes, little-endian, and its bytes of JSON. A length of zero, or the end of the input, ends
/// the program. It reads no file and has no state between requests. `HornbeamExpansion` makes the responses, so that tests can link it.
@main enum Plugin {
    static func main() {
        while let message = readMessage() {
            guard write(Messages.response(to: message)) else { return }
        }
    }

    /// The maximum length of a message in bytes. Source files are far shorter.
    private static let lengthMax: UInt64 = 1 << 30

    private static func readMessage() -> [UInt8]? {
        guard let head = readBytes(8) else { return nil }
        let length = head.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length > 0, length <= lengthMax else { return nil }
        return readBytes(Int(length))
    }

    private static func readBytes(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress! + filled, count - filled) }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return nil }
            filled += got
        }
        return bytes
    }

    private static func write(_ body: [UInt8]) -> Bool {
        let head = (0..<8).map { UInt8(truncatingIfNeeded: body.count >> ($0 * 8)) }
        let bytes = head + body
        var done = 0
        while done < bytes.count {
            let put = unsafe bytes.withUnsafeBytes { unsafe writeBytes($0.baseAddress! + done, bytes.count - done) }
            if put < 0, errno == EINTR { continue }
            guard put > 0 else { return false }
            done += put
        }
        return true
    }

    private static func writeBytes(_ start: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
        unsafe Glibc.write(1, start, count)
        #elseif canImport(Musl)
        Musl.write(1, start, count)
        #else
        Darwin.write(1, start, count)
        #endif
    }
}
