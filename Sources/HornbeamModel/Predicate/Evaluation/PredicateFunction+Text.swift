extension PredicateFunction {
    /// The part of a text from a position on, counted in UTF-16 code units as `length:` does. Positions outside the text are left out, and so is a
    /// character of two units of which only one is inside.
    static func substring(_ text: String?, _ start: Int64?, _ length: Int64?) -> PropertyValue {
        guard let text, let start, let length else { return .null }
        let (sum, overflow) = start.addingReportingOverflow(Swift.max(length, 0))
        let end = overflow ? Int64.max : sum
        var position: Int64 = 0
        var part = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let next = position + (scalar.value > 0xFFFF ? 2 : 1)
            if position >= end { break }
            if position >= start, next <= end { part.append(scalar) }
            position = next
        }
        return .string(String(part))
    }

    /// The text with another text for each occurrence of a part, from left to right. The comparison is by Unicode scalars, with case. An empty part
    /// does not occur.
    static func replacing(_ text: String?, _ part: String?, _ replacement: String?) -> PropertyValue {
        guard let text, let part, let replacement else { return .null }
        let places = occurrences(of: part, in: text)
        guard !places.isEmpty else { return .string(text) }
        let (bytes, new) = (Array(text.utf8), Array(replacement.utf8))
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + places.count * (new.count - part.utf8.count))
        var copied = 0
        for place in places {
            result += bytes[copied ..< place]
            result += new
            copied = place + part.utf8.count
        }
        result += bytes[copied...]
        return .string(String(decoding: result, as: UTF8.self))
    }

    /// The offsets in UTF-8 of the occurrences of a part that do not overlap.
    static func occurrences(of part: String, in text: String) -> [Int] {
        let (bytes, part) = (Array(text.utf8), Array(part.utf8))
        guard let first = part.first, part.count <= bytes.count else { return [] }
        var places: [Int] = []
        var place = 0
        while place + part.count <= bytes.count {
            if bytes[place] == first, bytes[place ..< place + part.count].elementsEqual(part) {
                places.append(place)
                place += part.count
            } else {
                place += 1
            }
        }
        return places
    }
}
