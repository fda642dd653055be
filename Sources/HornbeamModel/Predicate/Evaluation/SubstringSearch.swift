import Foundation

/// Searches a sequence of bytes in texts, in time proportional to the text in every case.
///
/// Finds a short sequence (needle) by its first byte. For a long needle, that method is quadratic in the worst case, so the search uses
/// the failure function of Knuth, Morris and Pratt.
struct SubstringSearch: Sendable {
    private static let shortMax = 32

    private let needle: [UInt8]
    /// For a long needle: at each position, the length of the longest proper prefix of the needle that ends there.
    private let borders: [Int]

    init(_ needle: [UInt8]) {
        self.needle = needle
        borders = needle.count > Self.shortMax ? Self.borders(of: needle) : []
    }

    private static func borders(of needle: [UInt8]) -> [Int] {
        var borders = [0]
        borders.reserveCapacity(needle.count)
        for place in 1..<needle.count {
            var length = borders[place - 1]
            while length > 0, needle[length] != needle[place] { length = borders[length - 1] }
            borders.append(needle[length] == needle[place] ? length + 1 : 0)
        }
        return borders
    }

    /// True when the needle, which is not empty, occurs in the text.
    func isFound(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count >= needle.count, let start = text.baseAddress else { return false }
        return unsafe borders.isEmpty ? isFoundByFirstByte(start, text.count) : isFoundByBorders(text)
    }

    private func isFoundByFirstByte(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var place = unsafe UnsafeRawPointer(start)
        let end = unsafe place + (count - needle.count + 1)
        while let hit = unsafe memchr(place, Int32(needle[0]), end - place) {
            if unsafe memcmp(hit, needle, needle.count) == 0 { return true }
            unsafe place = unsafe UnsafeRawPointer(hit) + 1
        }
        return false
    }

    private func isFoundByBorders(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var length = 0
        for unsafe byte in unsafe text {
            while length > 0, needle[length] != byte { length = borders[length - 1] }
            if needle[length] == byte { length += 1 }
            if length == needle.count { return true }
        }
        return false
    }
}
