import Foundation

/// Splits a control file into its paragraphs, which are separated by blank lines. The buffer holds one paragraph at a time.
final class ParagraphReader {
    /// A paragraph in the reader's buffer.
    struct Paragraph {
        /// The number of its first line, from 1.
        let line: Int
        /// Its range in the buffer, without the blank line after it.
        let range: Range<Int>
    }

    private let source: any ByteSource
    private let sizeMax: Int
    private var buffer: [UInt8]
    /// The bytes in the buffer that are not part of a returned paragraph.
    private var unread: Range<Int> = 0..<0
    private var line = 1
    private var isAtEnd = false
    private(set) var bytesRead = 0

    /// - Parameter sizeMax: The maximum length of a paragraph in bytes.
    init(_ source: any ByteSource, bufferSize: Int = 1 << 20, sizeMax: Int = 8 << 20) {
        self.source = source
        self.sizeMax = sizeMax
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    var fractionRead: Double { source.fractionRead }

    /// Passes the next paragraph to `body`; returns nil at the end.
    ///
    /// The bytes are valid during the call. Throws a `CatalogueProblem` for a paragraph that is too
    /// long; the next call continues after it.
    func next<R>(_ body: (Int, UnsafeRawBufferPointer) throws -> R) throws -> R? {
        guard let paragraph = try findParagraph() else { return nil }
        return unsafe try buffer.withUnsafeBytes {
            unsafe try body(paragraph.line, UnsafeRawBufferPointer(rebasing: $0[paragraph.range]))
        }
    }

    private func findParagraph() throws -> Paragraph? {
        try skipBlankLines()
        guard !unread.isEmpty else { return nil }
        let first = line
        var scanned = 0
        var isTooLong = false
        while true {
            guard let length = try lineLength(at: scanned) else { break }
            let isBlank = isBlank(at: unread.lowerBound + scanned, length)
            if isBlank { break }
            scanned += length
            countLine(endingAt: unread.lowerBound + scanned)
            if scanned > sizeMax {
                isTooLong = true
                unread = (unread.lowerBound + scanned)..<unread.upperBound
                scanned = 0
            }
        }
        let range = unread.lowerBound..<(unread.lowerBound + scanned)
        unread = range.upperBound..<unread.upperBound
        if isTooLong { throw CatalogueProblem(line: first, reason: "the paragraph is longer than \(sizeMax) bytes") }
        return Paragraph(line: first, range: range)
    }

    private func skipBlankLines() throws {
        while let length = try lineLength(at: 0), isBlank(at: unread.lowerBound, length) {
            unread = (unread.lowerBound + length)..<unread.upperBound
            countLine(endingAt: unread.lowerBound)
        }
    }

    private func countLine(endingAt end: Int) {
        if buffer[end - 1] == 0x0A { line += 1 }
    }

    /// The length of the line that begins `offset` bytes into the unread part, with its line break; nil at the end. A line that is longer than a
    /// paragraph may be is returned in parts.
    private func lineLength(at offset: Int) throws -> Int? {
        var searched = offset
        while true {
            let found = unsafe buffer.withUnsafeBytes { bytes -> Int? in
                let start = unread.lowerBound + searched
                guard start < unread.upperBound,
                    let place = unsafe memchr(bytes.baseAddress! + start, 0x0A, unread.upperBound - start)
                else { return nil }
                return unsafe UnsafeRawPointer(place) - bytes.baseAddress! - unread.lowerBound
            }
            if let found { return found + 1 - offset }
            searched = unread.count
            if searched - offset > sizeMax { return searched - offset }
            if isAtEnd { return searched > offset ? searched - offset : nil }
            try readMore()
        }
    }

    private func isBlank(at start: Int, _ length: Int) -> Bool {
        if buffer[start] > 0x20 { return false }
        return buffer[start..<start + length].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    private func readMore() throws {
        if unread.lowerBound > 0 {
            unsafe buffer.withUnsafeMutableBytes { bytes in
                _ = unsafe memmove(bytes.baseAddress!, bytes.baseAddress! + unread.lowerBound, unread.count)
            }
            unread = 0..<unread.count
        }
        if unread.count == buffer.count { buffer.append(contentsOf: repeatElement(0, count: buffer.count)) }
        let count = unsafe try buffer.withUnsafeMutableBytes {
            unsafe try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[unread.upperBound...]))
        }
        bytesRead += count
        isAtEnd = count == 0
        unread = unread.lowerBound..<(unread.upperBound + count)
    }
}
