import Testing

@testable import HornbeamEngine

/// Entries move from a node to another one whose keys share more bytes, as after a split.
@Suite struct LongerPrefixTests {
    /// Each length of the old prefix, of the bytes that are added to it, and of the rest of the key.
    @Test(arguments: [0, 1, 7, 8, 9], [1, 2, 7, 8, 9, 15, 16, 17, 30])
    func anEntryHasTheSameKeyAndValueAfterItsPrefixHasGrown(old: Int, added: Int) {
        let source = Page(.allocate(byteCount: Page.sizeMax, alignment: 8))
        let target = Page(.allocate(byteCount: Page.sizeMax, alignment: 8))
        defer {
            source.base.deallocate()
            target.base.deallocate()
        }
        let prefix = (0..<old + added).map { UInt8(200 + $0 % 50) }
        for rest in 0...20 {
            for valueLength in [0, 1, 8, 100] {
                let key = prefix + (0..<rest).map { UInt8($0 * 7 + 1) }
                let value = [UInt8](repeating: UInt8(valueLength), count: valueLength)
                let from = Array(prefix.prefix(old)).withBorrowedBytes {
                    SlottedNode.create(in: source, inner: false, level: 0, capacity: 4, limit: Page.sizeMax, prefix: $0)
                }
                let isInserted = key.withBorrowedBytes { key in
                    value.withBorrowedBytes { from.insert(at: 0, key: key, value: $0, isBlob: valueLength == 8) }
                }
                #expect(isInserted)
                let to = prefix.withBorrowedBytes {
                    SlottedNode.create(in: target, inner: false, level: 0, capacity: 4, limit: Page.sizeMax, prefix: $0)
                }
                to.append(0, of: from)
                #expect(to.count == 1)
                #expect(to.key(0) == key)
                #expect(to.value(0).array == value)
                #expect(to.isBlob(0) == (valueLength == 8))
                #expect(key.withBorrowedBytes { to.lowerBound($0).found })
                #expect(to.head(0) == Array(key.dropFirst(prefix.count)).withBorrowedBytes { $0.head })
            }
        }
    }
}
