import Foundation

/// The tool's output streams, and the properties of the terminal.
enum Console {
    /// Prints a line on standard output.
    static func printLine(_ text: String = "") { write(text + "\n", to: STDOUT_FILENO) }

    /// Prints a line on standard error.
    static func printError(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The width of the terminal in columns; 120 when standard output is not a terminal.
    static var width: Int { size.map { Int($0.ws_col) } ?? 120 }

    /// The height of the terminal in lines; 40 when standard output is not a terminal.
    static var height: Int { size.map { max(3, Int($0.ws_row)) } ?? 40 }

    private static var size: winsize? {
        var size = winsize()
        return unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? size : nil
    }

    /// Writes all bytes. Returns false when the output is closed; the command then continues without output.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes { unsafe writeOnce(descriptor, $0) }
            if written > 0 {
                bytes = bytes.dropFirst(written)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    private static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
            Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #else
            unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }
}
