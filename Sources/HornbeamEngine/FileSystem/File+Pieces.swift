// Throttled writes of background work. The sync of a commit waits until the device has written all earlier data. So background work
// writes in pieces and pauses after each piece. Pieces are written back and not synced: a sync would also flush the device's cache and
// commit the journal of the file system, and both delay commits.

import Glibc
internal import HornbeamThreads

extension File {
    /// The size of a throttled write. A commit waits for at most this many bytes, which takes the time of two or three syncs.
    private static var pieceBytes: UInt64 { 128 << 10 }
    /// The size of a write that is not throttled. Larger pieces cost less device time in total.
    private static var urgentPieceBytes: UInt64 { 512 << 10 }

    /// Writes bytes piece by piece; each piece reaches the device before the next is written. While `mayThrottle` returns true, the pieces
    /// are small, and after each the call sleeps as long as the write took, at most 2 ms. The next sync makes the bytes durable.
    func writeInPieces(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, mayThrottle: () -> Bool
    ) throws(EngineError) {
        var start = offset
        let end = offset + UInt64(bytes.count)
        while start < end {
            let throttles = mayThrottle()
            // Pieces end at block boundaries, so that no block is written twice.
            let goal = (start + (throttles ? Self.pieceBytes : Self.urgentPieceBytes)) & ~(DeviceBlock.bytes - 1)
            let next = min(goal, end)
            let begun = MonotonicClock.nanoseconds
            try unsafe write(bytes.part(Int(start - offset)..<Int(next - offset)), at: start)
            try writeBack()
            if throttles { usleep(UInt32(min(MonotonicClock.nanoseconds - begun, 2_000_000) / 1000)) }
            start = next
        }
    }
}
