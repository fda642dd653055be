internal import HornbeamEngine
internal import HornbeamModel

/// Finds the end of each component in an index key. Truncated keys cannot be read this way.
extension ValueIndex {
    /// Returns the length of the first `count` components, or the length of the key when its bytes are invalid.
    func end(ofElements count: Int, in key: UnsafeRawBufferPointer) -> Int {
        var offset = 0
        for element in elements.prefix(count) {
            guard let next = unsafe element.end(in: key, from: offset) else { return key.count }
            offset = next
        }
        return offset
    }
}

extension ValueIndex.Element {
    /// Nil when the key ends before the component does.
    fileprivate func end(in key: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < key.count else { return nil }
        let flip: UInt8 = isAscending ? 0 : 0xFF
        if unsafe key[start] ^ flip == KeyBytes.null { return start + 1 }
        switch type {
        case .bool: return unsafe whole(start + 2, key)
        case .int16: return unsafe whole(start + 3, key)
        case .int32, .float: return unsafe whole(start + 5, key)
        case .int64, .double, .date, .reference: return unsafe whole(start + 9, key)
        case .uuid: return unsafe whole(start + 17, key)
        case .decimal: return unsafe decimalEnd(key, start + 1, flip)
        case .string, .uri, .data, .objectID: return unsafe textEnd(key, start + 1, flip)
        case .composite: return nil
        }
    }

    private func whole(_ end: Int, _ key: UnsafeRawBufferPointer) -> Int? { end <= key.count ? end : nil }

    /// Two zeros end a text; a zero inside the text is followed by a one.
    private func textEnd(_ key: UnsafeRawBufferPointer, _ start: Int, _ flip: UInt8) -> Int? {
        var place = start
        while place + 1 < key.count {
            if unsafe key[place] ^ flip == 0 {
                if unsafe key[place + 1] ^ flip == 0 { return place + 2 }
                place += 1
            }
            place += 1
        }
        return nil
    }

    /// The format is described at `DecimalCode`.
    private func decimalEnd(_ key: UnsafeRawBufferPointer, _ start: Int, _ flip: UInt8) -> Int? {
        guard start < key.count else { return nil }
        let kind = unsafe key[start] ^ flip
        guard kind == 0x01 || kind == 0x03 else { return start + 1 }
        let end = kind == 0x01 ? ~flip : flip
        var place = start + 3
        while place < key.count {
            if unsafe key[place] == end { return place + 1 }
            place += 1
        }
        return nil
    }
}
