internal import Foundation
internal import HornbeamModel

/// The bytes of the rows of a JSON file, one after another. Memory holds one row and one block of the file.
final class JSONSlices {
    enum Form {
        /// One row in each line.
        case lines
        /// The elements of the list at a path of names.
        case elements([String])
    }

    /// The size of the file.
    let size: Int64
    /// The number of the row that was read last; of lines, empty ones included.
    private(set) var number = 0
    private let file: FileHandle
    private let name: String
    private let form: Form
    private var buffer: [UInt8] = []
    /// The first byte of `buffer` that is not read.
    private var start = 0
    private var bytesBefore: Int64 = 0
    private var isAtEnd = false
    private var hasBegun = false
    private var hasEnded = false

    private static let blockSize = 256 << 10
    private static let rowMax = 64 << 20
    /// The mark of UTF-8 with which some programs begin a file.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// - Throws: `inputOutput` when the file cannot be read.
    init(_ url: URL, _ form: Form) throws {
        name = url.lastPathComponent
        self.form = form
        do {
            file = try FileHandle(forReadingFrom: url)
            size = Int64(try file.seekToEnd())
            try file.seek(toOffset: 0)
        } catch {
            throw HornbeamError(
                .inputOutput, "The file “\(url.lastPathComponent)” cannot be read: check that it exists and may be read.", cause: "\(error)")
        }
    }

    /// The number of bytes read so far.
    var position: Int64 { bytesBefore + Int64(start) }

    /// The bytes of the next row; nil at the end.
    ///
    /// - Throws: `inputOutput`; `typeMismatch` for a file that has no list, or is damaged between rows.
    func next() throws -> ArraySlice<UInt8>? {
        switch form {
        case .lines: try nextLine()
        case .elements(let path): try nextElement(path)
        }
    }

    // MARK: Lines

    private func nextLine() throws -> ArraySlice<UInt8>? {
        while true {
            var end = start
            while true {
                if let found = buffer[end...].firstIndex(of: UInt8(ascii: "\n")) {
                    end = found
                    break
                }
                let length = buffer.count - start
                if try !fill() {
                    end = buffer.count
                    break
                }
                end = start + length
            }
            guard start < end || !isAtEnd || end < buffer.count else { return nil }
            let line = buffer[start..<end]
            start = min(end + 1, buffer.count)
            number += 1
            if line.contains(where: { !$0.isSpace }) { return line }
            if start >= buffer.count, try !fill() { return nil }
        }
    }

    // MARK: Elements

    private func nextElement(_ path: [String]) throws -> ArraySlice<UInt8>? {
        if hasEnded { return nil }
        if !hasBegun {
            try enter(path[...])
            hasBegun = true
            if try peek() == UInt8(ascii: "]") { return try endList(path) }
        } else {
            switch try take() {
            case UInt8(ascii: ","): break
            case UInt8(ascii: "]"):
                start -= 1
                return try endList(path)
            default: throw damaged("has no comma after row \(number)")
            }
        }
        number += 1
        return try value()
    }

    private func endList(_ path: [String]) throws -> ArraySlice<UInt8>? {
        start += 1
        hasEnded = true
        if path.isEmpty, try skipSpace() { throw damaged("has text after its list") }
        return nil
    }

    /// Moves to the first element of the list at the path.
    private func enter(_ path: ArraySlice<String>) throws {
        guard let name = path.first else {
            guard try take() == UInt8(ascii: "[") else { throw damaged("has no list of rows there") }
            return
        }
        guard try take() == UInt8(ascii: "{") else { throw damaged("has no object with “\(name)”") }
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw damaged("has no “\(name)”") }
            let key = try JSONParser.value(try value())
            guard try take() == UInt8(ascii: ":") else { throw damaged("has a name without a value") }
            if key == .string(name) { return try enter(path.dropFirst()) }
            _ = try peek()
            _ = try value()
            guard try take() == UInt8(ascii: ",") else { throw damaged("has no “\(name)”") }
        }
    }

    /// The bytes of the value that begins at the next byte.
    private func value() throws -> ArraySlice<UInt8> {
        guard try skipSpace() else { throw damaged("ends within a row") }
        var scan = ValueScan()
        var end = start
        while true {
            while end < buffer.count {
                if scan.endsBefore(buffer[end]) { break }
                end += 1
                if scan.isComplete { break }
            }
            if end < buffer.count || scan.isComplete { break }
            let length = end - start
            guard try fill() else { break }
            end = start + length
        }
        guard scan.depth == 0, !scan.isInText, end > start else { throw damaged("ends within row \(number)") }
        defer { start = end }
        return buffer[start..<end]
    }

    private func peek() throws -> UInt8 {
        guard try skipSpace() else { throw damaged("ends before its list does") }
        return buffer[start]
    }

    private func take() throws -> UInt8 {
        let byte = try peek()
        start += 1
        return byte
    }

    /// False at the end of the file.
    private func skipSpace() throws -> Bool {
        while true {
            while start < buffer.count {
                guard buffer[start].isSpace else { return true }
                start += 1
            }
            guard try fill() else { return false }
        }
    }

    private func damaged(_ what: String) -> HornbeamError {
        HornbeamError(.typeMismatch, "The file “\(name)” \(what), so its rows cannot be read further. Check that it is complete JSON.")
    }

    // MARK: Reading

    /// Appends a block to the bytes that are not read; false at the end of the file.
    private func fill() throws -> Bool {
        if isAtEnd { return false }
        guard buffer.count - start <= Self.rowMax else { throw damaged("has a row of more than 64 MiB") }
        let block: Data?
        do { block = try file.read(upToCount: Self.blockSize) } catch {
            throw HornbeamError(.inputOutput, "The file “\(name)” cannot be read to its end.", cause: "\(error)")
        }
        guard let block, !block.isEmpty else {
            isAtEnd = true
            return false
        }
        let isFirst = position == 0 && buffer.isEmpty
        bytesBefore += Int64(start)
        buffer.removeSubrange(..<start)
        start = 0
        buffer.append(contentsOf: block)
        if isFirst, buffer.starts(with: Self.byteOrderMark) { start = Self.byteOrderMark.count }
        return true
    }
}

/// Finds the end of a JSON value by its brackets and texts.
private struct ValueScan {
    private(set) var depth = 0
    private(set) var isInText = false
    /// True after the last byte of a text, a list or an object.
    private(set) var isComplete = false
    private var isEscaped = false

    /// Notes the next byte; true when the value, a number or a word, ends before it.
    @inline(__always)
    mutating func endsBefore(_ byte: UInt8) -> Bool {
        if isInText {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInText = false
                isComplete = depth == 0
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            if depth == 0 { return true }
            depth -= 1
            isComplete = depth == 0
        case UInt8(ascii: ","), UInt8(ascii: ":"): return depth == 0
        default: return depth == 0 && byte.isSpace
        }
        return false
    }
}

extension UInt8 {
    /// True for the white space of JSON.
    var isSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
