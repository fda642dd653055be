import Testing

@testable import HornbeamEngine

/// Headers with a valid checksum and an invalid field: each is refused with an error that names the field.
@Suite struct HeaderTests {
    @Test(arguments: [
        (LogSegmentHeader.versionOffset, UInt64(3), LogFault.newer(3)),
        (LogSegmentHeader.versionOffset, 0, .header("version")),
        (LogSegmentHeader.segmentBytesOffset, 8191, .header("length")),
        (LogSegmentHeader.segmentBytesOffset, 4096, .header("length")),
        (LogSegmentHeader.segmentBytesOffset, 1 << 48, .header("length")),
        (LogSegmentHeader.reservedOffset, 1, .header("reserved bytes")),
        (LogSegmentHeader.zerosOffset, 1, .header("reserved bytes")),
    ] as [(Int, UInt64, LogFault)])
    func aSegmentHeaderWithAWrongFieldIsRefused(offset: Int, value: UInt64, fault: LogFault) throws {
        var block = [UInt8](repeating: 0, count: LogSegmentHeader.bytes)
        var header = LogSegmentHeader(
            store: FormatExample.store, number: LogSegmentNumber(3), salt: 1,
            segmentBytes: 1 << 16)
        block.withUnsafeMutableBytes { header.encode(into: $0) }
        #expect(try block.withUnsafeBytes { try LogSegmentHeader(decoding: $0) }.number == LogSegmentNumber(3))
        patch(&block, offset, value)
        let check = block.withUnsafeBytes { XXH64.hash($0.part(0..<LogSegmentHeader.checkOffset)) }
        patch(&block, LogSegmentHeader.checkOffset, check)
        let found = #expect(throws: LogFault.self) { try block.withUnsafeBytes { try LogSegmentHeader(decoding: $0) } }
        #expect("\(found!)" == "\(fault)")
    }

    @Test(arguments: [
        (MetaBlock.versionOffset, UInt64(3), MetaBlock.Fault.newer(3)),
        (MetaBlock.versionOffset, 0, .damaged("the format version")),
        (MetaBlock.incompatibleOffset, 4, .features(4)),
        (MetaBlock.pageSizeOffset, 256, .damaged("the page size")),
        (MetaBlock.pageSizeOffset, 32768, .damaged("the page size")),
        (MetaBlock.pageSizeOffset, 513, .damaged("the page size")),
        (MetaBlock.checkpointOffset, 0, .damaged("the checkpoint's number")),
        (MetaBlock.positionOffset, 4097, .damaged("the log position")),
        (MetaBlock.reservedOffset, 1, .damaged("the reserved bytes")),
    ] as [(Int, UInt64, MetaBlock.Fault)])
    func aMetaBlockWithAWrongFieldIsRefused(offset: Int, value: UInt64, fault: MetaBlock.Fault) throws {
        var block = [UInt8](repeating: 0, count: MetaBlock.bytes)
        var state = FormatExample.state(catalogue: .empty)
        state.hasInsertBuffers = true
        _ = block.withUnsafeMutableBytes { MetaBlock(state: state, previousCheck: 0).encode(into: $0, slot: 1) }
        #expect(try block.withUnsafeBytes { try MetaBlock(decoding: $0, slot: 1) }.state == state)
        if offset == MetaBlock.versionOffset || offset == MetaBlock.pageSizeOffset {
            block.withUnsafeMutableBytes { $0.set(UInt32(value), at: offset) }
        } else {
            patch(&block, offset, value)
        }
        let check = block.withUnsafeBytes { XXH64.hash($0.part(0..<MetaBlock.checkOffset), seed: 1) }
        patch(&block, MetaBlock.checkOffset, check)
        let found = #expect(throws: MetaBlock.Fault.self) { try block.withUnsafeBytes { try MetaBlock(decoding: $0, slot: 1) } }
        #expect("\(found!)" == "\(fault)")
    }

    /// Compatible additions of a later version of the library are accepted.
    @Test func reservedBytesOfACompatibleFeatureAreLetPass() throws {
        var block = [UInt8](repeating: 0, count: MetaBlock.bytes)
        _ = block.withUnsafeMutableBytes {
            MetaBlock(state: FormatExample.state(catalogue: .empty), previousCheck: 0).encode(into: $0, slot: 0)
        }
        patch(&block, MetaBlock.compatibleOffset, 1)
        patch(&block, MetaBlock.reservedOffset, 7)
        let check = block.withUnsafeBytes { XXH64.hash($0.part(0..<MetaBlock.checkOffset), seed: 0) }
        patch(&block, MetaBlock.checkOffset, check)
        #expect(try block.withUnsafeBytes { try MetaBlock(decoding: $0, slot: 0) }.state.compatibleFeatures == 1)
    }

    private func patch(_ block: inout [UInt8], _ offset: Int, _ value: UInt64) {
        block.withUnsafeMutableBytes { buffer in
            // Fields of four bytes keep their neighbour.
            if value <= UInt64(UInt32.max) { buffer.set(UInt32(value), at: offset) } else { buffer.set(value, at: offset) }
            if offset == MetaBlock.checkOffset { buffer.set(value, at: offset) }
        }
    }
}
