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

    /// Entries are appended to a node with a shorter prefix, the same one or a longer one, to an empty node and behind other entries.
    @Test(arguments: [0, 5, 9, 12, 20], [0, 1, 3])
    func aRangeOfEntriesKeepsItsOrderKeysAndValues(prefixLength: Int, before: Int) throws {
        let source = Page(.allocate(byteCount: Page.sizeMax, alignment: 8))
        let target = Page(.allocate(byteCount: Page.sizeMax, alignment: 8))
        defer {
            source.base.deallocate()
            target.base.deallocate()
        }
        let shared = (0..<20).map { UInt8(100 + $0) }
        var entries: [(key: [UInt8], value: [UInt8])] = []
        for i in 0..<12 {
            let rest: [UInt8] = (0...2 * i).map { UInt8($0 + i * 20) }
            entries.append((shared + rest, [UInt8](repeating: UInt8(i), count: i * 3)))
        }
        let from = Array(shared.prefix(9)).withBorrowedBytes {
            SlottedNode.create(in: source, inner: false, level: 0, capacity: 16, limit: Page.sizeMax, prefix: $0)
        }
        for (i, entry) in entries.enumerated() {
            let isInserted = entry.key.withBorrowedBytes { key in
                entry.value.withBorrowedBytes { from.insert(at: i, key: key, value: $0, isBlob: i == 4) }
            }
            try #require(isInserted)
        }
        let to = Array(shared.prefix(prefixLength)).withBorrowedBytes {
            SlottedNode.create(in: target, inner: false, level: 0, capacity: 16, limit: Page.sizeMax, prefix: $0)
        }
        to.append(0..<before, of: from)
        to.append(before..<entries.count, of: from)
        #expect(to.count == entries.count)
        for (i, entry) in entries.enumerated() {
            #expect(to.key(i) == entry.key)
            #expect(to.value(i).array == entry.value)
            #expect(to.isBlob(i) == (i == 4))
            #expect(to.cellFault(i) == nil)
        }
        #expect(to.gap >= 0)
    }
}
