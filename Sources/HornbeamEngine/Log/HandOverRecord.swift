// The record with which a process hands a shared store over: the end of the log, all of which is durable. It is in the file `lock`, after
// the durable LSN hint and the process number:
//
//      32         40            48               52      56       64
//      +----------+-------------+----------------+-------+--------+
//      | position | frame check | next page file | zeros | check  |
//      +----------+-------------+----------------+-------+--------+
//
// The next holder removes the record before it writes to the log. A holder that dies, or whose log or `meta` failed, leaves no record; the
// next holder then recovers the store as after a crash. The record is never synced: an opening without other processes does not read it.

/// The end of the log of a store that was handed over.
struct HandOverRecord: Equatable {
    static let offset: UInt64 = 32
    static let bytes = 32

    var mark: LogMark
    /// The number of the next page file. Numbers are not reused, even of files that were removed.
    var nextPageFile: PageFileNumber

    private static func seed(_ store: StoreIdentifier) -> UInt64 { PageHeader.mixed(store.high) ^ store.low }

    /// The record in an open lock file; nil if there is none.
    static func read(_ file: any File, store: StoreIdentifier) throws(EngineError) -> HandOverRecord? {
        var bytes = [UInt8](repeating: 0, count: Self.bytes)
        let count = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in unsafe try file.read(into: buffer, at: offset) }
        guard count == Self.bytes else { return nil }
        return unsafe bytes.withBytes { buffer in
            let position = LogPosition(unsafe buffer.integer(at: 0, as: UInt64.self))
            let number = PageFileNumber(unsafe buffer.integer(at: 16, as: UInt32.self))
            guard unsafe buffer.integer(at: 24, as: UInt64.self) == XXH64.hash(buffer.part(0..<24), seed: seed(store)),
                position <= .last, number >= .first, number <= .last
            else { return nil }
            let mark = LogMark(position: position, check: unsafe buffer.integer(at: 8, as: UInt64.self))
            return HandOverRecord(mark: mark, nextPageFile: number)
        }
    }

    func write(_ file: any File, store: StoreIdentifier) throws(EngineError) {
        var bytes = [UInt8](repeating: 0, count: Self.bytes)
        unsafe bytes.withMutableBytes { buffer in
            unsafe buffer.set(mark.position.rawValue, at: 0)
            unsafe buffer.set(mark.check, at: 8)
            unsafe buffer.set(nextPageFile.rawValue, at: 16)
            unsafe buffer.set(XXH64.hash(UnsafeRawBufferPointer(buffer).part(0..<24), seed: Self.seed(store)), at: 24)
        }
        try HandOverRecord.put(bytes, file)
    }

    static func remove(_ file: any File) throws(EngineError) { try put([UInt8](repeating: 0, count: bytes), file) }

    private static func put(_ bytes: [UInt8], _ file: any File) throws(EngineError) {
        unsafe try bytes.withBytes { (buffer) throws(EngineError) in unsafe try file.write(buffer, at: offset) }
    }
}
