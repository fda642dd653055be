// How the background writes much without making commits wait: a commit's sync waits until the device has written all
// that it was given before, so it is given little at a time, and where the device is quick nothing half of the time. Pieces are
// written back and not synced: a flush would be one more thing for commits to wait for, and a new length a commit of the journal.

import Glibc
internal import HornbeamThreads

extension File {
    /// What a commit may find before it in the device's queue: as much as the device takes while two or three commits sync.
    private static var pieceBytes: UInt64 { 128 << 10 }
    /// The same where what is written is urgent: large pieces take less of the device's time altogether.
    private static var urgentPieceBytes: UInt64 { 512 << 10 }

    /// Writes bytes a piece at a time; each is brought to the device before the next. While `mayRest` says so the pieces are
    /// small, and after each comes a rest as long as it took, 2 ms at most. Durable with the next sync only.
    func writeInPieces(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, mayRest: () -> Bool
    ) throws(EngineError) {
        var start = offset
        let end = offset + UInt64(bytes.count)
        while start < end {
            let rests = mayRest()
            // Pieces end where blocks do, so that none is written twice.
            let goal = (start + (rests ? Self.pieceBytes : Self.urgentPieceBytes)) & ~(DeviceBlock.bytes - 1)
            let next = min(goal, end)
            let begun = MonotonicClock.nanoseconds
            try unsafe write(bytes.part(Int(start - offset)..<Int(next - offset)), at: start)
            try writeBack()
            if rests { usleep(UInt32(min(MonotonicClock.nanoseconds - begun, 2_000_000) / 1000)) }
            start = next
        }
    }
}
