// Reads texts of rows: as strings, as borrowed bytes, or to compare them.

import Synchronization

/// Bytes of a page, valid until the same thread calls `endBorrowing` with `reader`. The type has three words, which are passed in registers.
@safe package struct BorrowedBytes {
    package let start: UnsafeRawPointer
    package let count: Int
    /// The thread's epoch cell; nil inside another read of the thread.
    package let reader: UnsafeMutableRawPointer?

    package static func endBorrowing(_ reader: UnsafeMutableRawPointer?) {
        unsafe reader?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

extension TableCells {
    /// The text columns that have been read and that the lookup does not prefetch.
    @inline(__always)
    private var textsToPrefetch: UInt64 {
        columnsRead.load(ordering: .relaxed) & texts & ~(firstPredictor.reliableColumn | secondPredictor.reliableColumn)
    }

    /// Prefetches the texts of a row that was just looked up, for the columns that have been read. Called some time after the lookup, because it
    /// reads the cells with the texts' offsets.
    package func prefetchTexts(at location: RowLocation) {
        let wanted = textsToPrefetch
        guard wanted != 0 else { return }
        _ = withRow(at: location) { $0.prefetchTexts(wanted) }
    }

    /// True if a row has this text in a column; false also if its value is a blob. Reads the row at the location if that is valid, otherwise by
    /// its key. Prefetches the texts of the columns that have been read.
    package func isText(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        note(column)
        let wanted = textsToPrefetch
        let isSame = withRow(at: location) { row in
            row.prefetchTexts(wanted)
            if let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) { unsafe learn(column, row, bytes) }
            return unsafe row.isText(column, text)
        }
        if let isSame { return isSame }
        var isIt = false
        try view.readRow(key, at: &location) { row in isIt = unsafe row.isText(column, text) }
        return isIt
    }

    /// The text of a cell. Nil if it is null or a blob, or if the location is not valid; then call `textCell`.
    package func plainText(at location: RowLocation, _ column: Int) -> String? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.prefetchNeighbour(column) }
            guard !row.isNull(column), let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) else { return nil }
            if !location.hasNeighbours, row.slot % TextOffsetPredictor.rowsPerLesson == 0 { unsafe learn(column, row, bytes) }
            return unsafe TableCells.text(bytes)
        } ?? nil
    }

    /// The longest text in bytes that a `String` contains without an allocation.
    private static let smallTextMax = 15

    /// The bytes as a text; invalid UTF-8 is repaired. A short text is written in place, which takes a third of the instructions of decoding.
    @inline(__always)
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.count <= smallTextMax else { return unsafe String(decoding: bytes, as: UTF8.self) }
        return unsafe String(unsafeUninitializedCapacity: smallTextMax) { buffer in
            unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
            return bytes.count
        }
    }

    /// Updates the prediction with the offset of a text.
    @inline(__always)
    private func learn(_ column: Int, _ row: RowView, _ bytes: UnsafeRawBufferPointer) {
        guard column < 64, bytes.count > 0, let start = bytes.baseAddress else { return }
        let offset = unsafe start - UnsafeRawPointer(row.leaf.page.base) - row.leaf.columnsStart - row.leaf.capacity * bytesPerRow
        let place = TextOffsetPredictor.RowPosition(slot: row.slot, of: row.leaf.count)
        if !firstPredictor.learn(column, place, offset) { _ = secondPredictor.learn(column, place, offset) }
    }

    /// The bytes of a text in the page, valid until `BorrowedBytes.endBorrowing`. Nil if it is null or a blob, or if the location is not valid; then
    /// call `readTextBytes`.
    package func borrowText(at location: RowLocation, _ column: Int) -> BorrowedBytes? {
        note(column)
        guard isFromThisVersion(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> BorrowedBytes? in
            let epoch = pool.epochs.enter()
            let frame = location.frame
            if pool.generation(frame) == location.generation, let cachedHeader = pool.cachedHeader(frame), let leaf = leaf(pool, frame, cachedHeader) {
                let row = leaf.row(location.slot)
                if location.hasNeighbours { row.prefetchNeighbour(column) }
                if !row.isNull(column), let bytes = unsafe leaf.bytesInLeaf(column, location.slot), let start = bytes.baseAddress {
                    return unsafe BorrowedBytes(start: start, count: bytes.count, reader: UnsafeMutableRawPointer(epoch.cell))
                }
            }
            pool.epochs.leave(epoch)
            return nil
        }
    }

    /// The text of a variable cell. Reads the row at its location if that is valid, otherwise by its key, and updates the location.
    package func textCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> TextCell {
        note(column)
        if let cell = withRow(at: location, { row in Result { () throws(EngineError) in try row.textCell(column) } }) {
            return try cell.get()
        }
        var cell = TextCell.noRow
        try view.readRow(key, at: &location) { row throws(EngineError) in cell = try row.textCell(column) }
        return cell
    }

    /// Calls `body` with the bytes of a variable cell, or with nil for null. False if there is no row. Updates the location.
    package func readTextBytes(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ body: (UnsafeRawBufferPointer?) -> Void
    ) throws(EngineError) -> Bool {
        func pass(_ row: RowView) throws(EngineError) {
            if row.isNull(column) { return body(nil) }
            if let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) { return unsafe body(bytes) }
            unsafe try row.withBytes(column) { bytes throws(EngineError) in unsafe body(bytes) }
        }
        note(column)
        if let done = withRow(at: location, { row in Result { () throws(EngineError) in try pass(row) } }) {
            try done.get()
            return true
        }
        var isThere = false
        try view.readRow(key, at: &location) { row throws(EngineError) in
            isThere = true
            try pass(row)
        }
        return isThere
    }
}
