// Throttled writes of background work. The sync of a commit waits until the device has written everything that it received before.
// So background work writes in pieces, and on a fast device it pauses for half of the time. Pieces are written back and not synced: a
// flush would delay commits too, and a new length of the file costs a commit of the journal.

import Glibc
internal import HornbeamThreads

extension File {
    /// Bytes that a commit may find before it in the device's queue: as much as the device writes while two or three commits sync.
    private static var pieceBytes: UInt64 { 128 << 10 }
    /// The same for urgent writes. Larger pieces cost less device time in total.
    private static var urgentPieceBytes: UInt64 { 512 << 10 }

    /// Writes bytes piece by piece; each piece reaches the device before the next is written. While `mayThrottle` returns true, the pieces
    /// are small, and a pause follows each: as long as its write took, at most 2 ms. The next sync makes the bytes durable.
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
