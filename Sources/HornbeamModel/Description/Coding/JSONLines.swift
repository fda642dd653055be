internal import Foundation

/// The line of each part of a JSON document, for the messages about a model file.
///
/// Parts are identified by their path: `entities/0/attributes/2`.
struct JSONLines {
    private let lines: [String: Int]
    /// The line of the first syntax error; nil for valid JSON.
    let syntaxErrorLine: Int?

    init(_ json: Data) {
        var scanner = Scanner(bytes: [UInt8](json))
        let isSound = scanner.readValue("", depth: 0) && scanner.isAtEnd()
        lines = scanner.lines
        syntaxErrorLine = isSound ? nil : scanner.line
    }

    /// The line of a part; if the path does not exist, the line of its nearest ancestor.
    func line(_ path: [String]) -> Int {
        var path = path
        while !path.isEmpty {
            if let line = lines[path.joined(separator: "/")] { return line }
            path.removeLast()
        }
        return lines[""] ?? 1
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0
        var line = 1
        var lines: [String: Int] = [:]

        /// The maximum nesting depth. It limits recursion; no model is nested more deeply.
        private static let depthMax = 64

        init(bytes: [UInt8]) { self.bytes = bytes }

        private mutating func skipSpace() {
            while position < bytes.count, bytes[position] == 0x20 || (0x09...0x0D).contains(bytes[position]) {
                if bytes[position] == 0x0A { line += 1 }
                position += 1
            }
        }

        mutating func isAtEnd() -> Bool {
            skipSpace()
            return position == bytes.count
        }

        private mutating func consume(_ sign: Unicode.Scalar) -> Bool {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: sign) else { return false }
            position += 1
            return true
        }

        /// Reads a value and records the lines of its parts; false at a syntax error.
        mutating func readValue(_ path: String, depth: Int) -> Bool {
            skipSpace()
            guard depth < Self.depthMax else { return false }
            lines[path] = line
            if consume("{") { return readMembers(path, depth) }
            if consume("[") { return readElements(path, depth) }
            return readString() != nil || readWord()
        }

        private mutating func readMembers(_ path: String, _ depth: Int) -> Bool {
            if consume("}") { return true }
            repeat {
                skipSpace()
                guard let key = readString(), consume(":") else { return false }
                guard readValue(path.isEmpty ? key : "\(path)/\(key)", depth: depth + 1) else { return false }
            } while consume(",")
            return consume("}")
        }

        private mutating func readElements(_ path: String, _ depth: Int) -> Bool {
            if consume("]") { return true }
            var count = 0
            repeat {
                guard readValue(path.isEmpty ? "\(count)" : "\(path)/\(count)", depth: depth + 1) else { return false }
                count += 1
            } while consume(",")
            return consume("]")
        }

        /// The text between quotes, with escapes not decoded; nil at a syntax error.
        private mutating func readString() -> String? {
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
            let start = position + 1
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "\""), bytes[end] != 0x0A {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
            position = end + 1
            return String(decoding: bytes[start..<end], as: UTF8.self)
        }

        /// Skips a number, `true`, `false` or `null`, without a check of its spelling: the decoder checks it.
        private mutating func readWord() -> Bool {
            let start = position
            while position < bytes.count, "+-.".utf8.contains(bytes[position]) || Self.isAlphanumeric(bytes[position]) { position += 1 }
            return position > start
        }

        private static func isAlphanumeric(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & ~0x20)
        }
    }
}
